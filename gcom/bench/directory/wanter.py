"""Members that want serials as fast as they get them: `python -m gcom.bench.directory.wanter REGISTRY GROUPS`.

Four threads, each a member of every group with a connection of its own. With one group all want of that; with several
each goes from one to the next. What is compared is the rate over all groups, with the same threads.
"""

from __future__ import annotations

import sys
from itertools import cycle
from threading import Thread
from time import monotonic

from gcom.bench.processes import child
from gcom.core.codec.sequencer import decode_answer, encode_request
from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import Open, SequencerAnswer, SequencerRequest, Want
from gcom.runtime import pyro

ASK_S = 10.0  # an answer that takes longer ends the benchmark
MEMBERS = tuple(f"m{place}#bench" for place in range(4))


class SerialAsker:
    """One member of all groups: how far it is in each."""

    def __init__(self, registry: str, process: str, groups: int) -> None:
        self.process = process
        self.after = [0] * groups  # the order of each group is known here up to this serial
        self._numbers = [0] * groups
        self._caller = pyro.Caller(registry, pyro.SEQUENCER, pyro.UserSecret())

    def ask(self, request: SequencerRequest) -> SequencerAnswer:
        return decode_answer(self._caller.call(encode_request(request), ASK_S))

    def want(self, number: int, stable: int) -> int:
        """Want a serial for one more message of a group; return 1 if the answer has it, else 0."""
        self._numbers[number] += 1
        upto = self._numbers[number]
        answer = self.ask(Want(*name(number), 1, self.process, upto, self.after[number], stable))
        if not isinstance(answer, Orders):
            return 0
        # Spans follow each other without a gap, so their lengths together are how far the order goes on.
        self.after[number] = answer.after + sum(last - first + 1 for _, first, last in answer.spans)
        return sum(who == self.process and last >= upto for who, _, last in answer.spans)

    def close(self) -> None:
        self._caller.close()


def name(number: int) -> tuple[str, str]:
    """Return a group and its instance."""
    return f"sequenced-{number}", f"bench{number}"


def main() -> None:
    """Open the groups, and want serials of the first so many of them as each order says, until standard input ends."""
    registry, groups = sys.argv[1], int(sys.argv[2])
    members = [SerialAsker(registry, process, groups) for process in MEMBERS]
    # One of the four opens each order, as a group's leader does; the others only want serials.
    for number in range(groups):
        members[0].ask(Open(*name(number), 1, 0, dict.fromkeys(MEMBERS, 0)))
    child.say("ready")
    while (order := child.heard()) is not None:
        child.say("wanted", rate=_rate(members, order["groups"], order["seconds"]))
    for member in members:
        member.close()
    child.end()


def _rate(members: list[SerialAsker], groups: int, seconds: float) -> float:
    """Return the serials a second that all members were given."""
    # A place for each thread: nobody else writes there, so no lock is measured.
    given = [0] * len(members)
    began = monotonic()

    def want(place: int) -> None:
        for number in cycle(range(groups)):
            # What all hold: the registry forgets it, as in a group whose members tell each other.
            # Read without a lock: an entry only grows, so an old one makes the registry forget less, never too much.
            stable = min(member.after[number] for member in members)
            given[place] += members[place].want(number, stable)
            if monotonic() - began >= seconds:
                return

    threads = [Thread(target=want, args=(place,), daemon=True) for place in range(len(members))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(given) / (monotonic() - began)


if __name__ == "__main__":
    main()
