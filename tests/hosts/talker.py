"""`python -m tests.hosts.talker NAME LOG-FOLDER`: a member of five groups, one of each ordering, that talks in all.

It says in JSON lines what it sees: twice a second its views and how much it has of whom, and each event at once. It
ends when its input does.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from threading import Event, Lock, Thread

import gcom

PAUSE_S = 0.02  # between two messages of one group
SAY_S = 0.5


class Talk:
    """One group of this member's: what it sends there, and what comes."""

    def __init__(self, node: gcom.Node, ordering: gcom.Ordering, ended: Event) -> None:
        self.name = f"talk-{ordering.lower()}"
        self._ended = ended
        self._group = node.join(self.name, create=gcom.Definition(self.name, ordering), timeout_s=60)
        self._group.listen(on_message=self._hear, on_event=self._see)
        self._heard: Counter[str] = Counter()
        self._sender = Thread(target=self._send, daemon=True)
        self._sender.start()

    def _hear(self, message: gcom.Message) -> None:
        self._heard[message.name] += 1

    def _see(self, event: gcom.Event) -> None:
        if isinstance(event, gcom.QuorumLost | gcom.QuorumRegained | gcom.Returned | gcom.Departure):
            say("event", group=self.name, event=type(event).__name__)

    def _send(self) -> None:
        while not self._ended.wait(PAUSE_S):
            try:
                self._group.send("talk", timeout_s=1)
            except (gcom.Detached, gcom.GComTimeout, gcom.NotAMember) as error:
                say("refused", group=self.name, error=str(error))
                self._ended.wait(SAY_S)  # it waits for the others, or is on its way back

    @property
    def seen(self) -> dict[str, object]:
        view = self._group.view
        return {"members": list(view.names), "heard": dict(self._heard)}

    def stop(self) -> None:
        self._sender.join(10)


_saying = Lock()


def say(kind: str, **fields: object) -> None:
    with _saying:
        print(json.dumps({"type": kind, **fields}), flush=True)


def _await_end(ended: Event) -> None:
    sys.stdin.read()
    ended.set()


def main() -> None:
    """Talk until the input ends."""
    name, folder = sys.argv[1:]
    ended = Event()
    with gcom.connect(name, log_dir=folder) as node:
        talks = [Talk(node, ordering, ended) for ordering in gcom.Ordering]
        Thread(target=_await_end, args=(ended,), daemon=True).start()
        say("ready")
        while not ended.wait(SAY_S):
            say("seen", groups={talk.name: talk.seen for talk in talks})
        for talk in talks:
            talk.stop()
    say("unregistered", groups=list(node.unregistered))


if __name__ == "__main__":
    main()
