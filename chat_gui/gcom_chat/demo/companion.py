"""A companion: `python -m gcom_chat.demo.companion NAME REGISTRY FROM_S LOGS`, until its standard input ends.

The visitor breaks the network on purpose, so nothing that a call says ends a companion: it tries again.
"""

from __future__ import annotations

import os
import secrets
import sys
import threading
import time

import gcom
from gcom_chat.demo.script import DEFINITION, GROUP, LENGTH_S, SCRIPT, Act, ScriptLine
from gcom_chat.model.backlog import Backlog
from gcom_chat.model.wire import ChatMessage, MessageKind, decode, encode

KINDS = {Act.SAY: MessageKind.TEXT, Act.WAVE: MessageKind.ACTION, Act.TOPIC: MessageKind.TOPIC}
AGAIN_S = 1.0  # until it tries once more what a bad network denied it
CRASHED = 70  # the status of one that crashed on purpose


class Companion:
    """A member that plays its lines of the script, beginning `from_s` seconds into it."""

    def __init__(self, name: str, registry: str, from_s: float, logs: str) -> None:
        self._name, self._registry, self._logs = name, registry, logs
        self._node: gcom.Node | None = None
        self._began = time.monotonic() - from_s
        self._group: gcom.Group | None = None
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End after the line that is being played."""
        self._stopped.set()

    def play(self) -> None:
        """Play the script again and again, and leave."""
        try:
            self._play()
        finally:
            if self._node:
                self._node.close(2)

    def _play(self) -> None:
        self._enter()
        mine = [line for line in SCRIPT if line.name == self._name]
        round_, passed_s = 0, time.monotonic() - self._began
        while not self._stopped.is_set():
            for line in mine:
                # Counted from the beginning, not from the line before: lateness does not add up.
                wait_s = round_ * LENGTH_S + line.at_s - (time.monotonic() - self._began)
                # What it missed while it was away it does not make up for.
                missed = round_ == 0 and line.at_s < passed_s
                if not missed and (self._stopped.wait(max(0.0, wait_s)) or self._act(line)):
                    break
            round_ += 1

    def _act(self, line: ScriptLine) -> bool:
        """Play one line; True ends the script."""
        if line.act is Act.CRASH:
            # Nothing is cleaned up: by way of `main` the node would be closed, which leaves, and that is no crash.
            os._exit(CRASHED)
        elif line.act is Act.LEAVE and self._group:
            self._group.leave(2)
            self._group = None
        elif line.act is Act.RETURN and self._group is None:
            self._enter()
        elif line.act in KINDS and self._group:
            self._say(self._group, line)
        return False

    def _say(self, group: gcom.Group, line: ScriptLine) -> None:
        message = ChatMessage(KINDS[line.act], line.text, secrets.token_hex(6), time.time_ns() // 1_000_000)
        try:
            group.send(encode(message), timeout_s=5)
        except (gcom.Detached, gcom.GComTimeout):
            return  # a line less; the group's troubles are what the demonstration shows
        except gcom.GComError:
            self._enter()  # it was put out for good

    def _enter(self) -> None:
        """Join the group, as often as it takes."""
        while not self._stopped.is_set():
            try:
                self._node = self._node or gcom.connect(self._name, self._registry, log_dir=self._logs)
                self._group = self._join(self._node)
                return
            except gcom.GComError:
                self._stopped.wait(AGAIN_S)

    def _join(self, node: gcom.Node) -> gcom.Group:
        backlog = Backlog()
        group = node.join(
            GROUP, create=DEFINITION, get_state=backlog.get_state, set_state=backlog.set_state, timeout_s=30
        )
        group.listen(on_message=lambda message: backlog.add(message.name, decode(message.payload)))
        return group


def main() -> None:
    """Play until the standard input ends, which it does when the chat has."""
    name, registry, from_s, logs = sys.argv[1:5]
    companion = Companion(name, registry, float(from_s), logs)
    threading.Thread(target=_stop_at_end, args=(companion,), daemon=True).start()
    companion.play()


def _stop_at_end(companion: Companion) -> None:
    sys.stdin.read()
    companion.stop()


if __name__ == "__main__":
    main()
