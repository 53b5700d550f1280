"""The merge of all orders of delivery, front by front, which finds a common order or a cycle; only the fronts are in
memory.

Each process's deliveries are a queue. A message leaves when it is at the front of every queue that it is ever in, which
is known: summaries have the sets delivered, as ranges. This is topological sorting (Kahn 1962) of the union of all
orders, so everything leaves if and only if the union has no cycle. If nothing more can leave, each front waits for a
queue that has the message further back. The waits form a cycle of at most as many steps as there are processes, and
each step is a contradiction: that process delivered its own front before the other's.

Deliveries come by place (the number of messages settled before), so that processes that deliver alike come together and
queues stay as short as a bucket. A message that only one process delivered lies on no cycle that does not pass it by,
and leaves at once; of one that a process delivered twice, the first delivery counts. A delivery that the summaries do
not know, as of a log that was changed meanwhile, leaves as well, and nothing is proved then.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from gcom.audit.summary.excerpts import Excerpt
from gcom.audit.summary.intervals import Intervals

Step = tuple[dict[str, Any], dict[str, Any]]  # what a process delivered before, and after


@dataclass(slots=True)
class _Run:
    """Consecutive messages of one sender, as one process delivered them."""

    sender: str
    number: int
    count: int
    at: int
    line: int
    excerpt: Excerpt

    def where(self, number: int) -> dict[str, Any]:
        about = {name: self.excerpt[name] for name in ("process", "view", "file")}
        at = self.at + number - self.number
        return {**about, "at": at, "line": self.line, "sender": self.sender, "number": number}

    def has(self, sender: str, number: int) -> bool:
        return self.sender == sender and self.number <= number < self.number + self.count


class OrderMerge:
    """The merge of the orders of the processes in `delivered`, which holds the numbers that each delivered of each
    sender.
    """

    def __init__(self, delivered: dict[str, dict[str, Intervals]]) -> None:
        self._processes = sorted(delivered)
        self._delivered = [delivered[who] for who in self._processes]
        self._queues: list[deque[_Run]] = [deque() for _ in self._processes]
        self._seen: list[dict[str, Intervals]] = [{} for _ in self._processes]
        self._held: dict[str, tuple[int, int, list[int]]] = {}  # of a sender: by whom numbers first to last are held
        self._cycle: list[int] = []  # processes, each of which waits for the next; the last for the first
        self._fronts: list[_Run] = []  # of these, when the cycle was found
        self._behind: dict[int, dict[str, Any]] = {}  # by place in the cycle: its front, where the next process has it
        self._strange = False  # something was delivered that the summaries do not know

    def feed(self, excerpt: Excerpt) -> None:
        """Add deliveries; those of one process in their order."""
        process = self._processes.index(excerpt["process"])
        columns = (excerpt[name].tolist() for name in ("sender", "number", "count", "at", "line"))
        for sender, number, count, at, line in zip(*columns, strict=True):
            # Behind a cycle nothing is merged any more. The rest of the deliveries only serves to show where the
            # cycle's messages stand.
            run = _Run(excerpt["names"][sender], number, count, at, line, excerpt)
            if self._cycle:
                self._look_behind(process, [run])
            else:
                self._queues[process] += self._first_time(process, run)

    def merge(self) -> None:
        """Remove the messages that can leave, after deliveries of several processes were fed."""
        if self._cycle:
            return
        self._advance()
        self._cycle = self._shortest_cycle()
        if self._cycle:
            self._fronts = [self._queues[process][0] for process in self._cycle]
            # What is queued was fed before the cycle was found, so it would not pass through feed() again.
            for process in set(self._cycle):
                self._look_behind(process, list(self._queues[process]))
            # From here on deliveries are only looked through for the other end of each step.
            self._queues.clear()

    def steps(self) -> list[Step]:
        """Return the contradictions that make a cycle; none where one order fits all, or the logs were changed."""
        # A cycle of which a step was not found in the deliveries rests on the summaries alone, which these contradict.
        if not self.is_located() or self._strange:
            return []
        found = []
        for place in range(len(self._cycle)):
            mine, other = (1 - place) % len(self._cycle), -place % len(self._cycle)
            front = self._fronts[mine]
            found.append((front.where(front.number), self._behind[other]))
        return found

    def is_located(self) -> bool:
        """Tell whether a cycle was found, and the position of each of its steps: more deliveries change nothing."""
        return bool(self._cycle) and len(self._behind) == len(self._cycle)

    def is_done(self) -> bool:
        """Tell whether the answer is known: contradictions were found, or everything has left."""
        return bool(self.steps()) or not (self._cycle or self._strange or any(self._queues))

    def _first_time(self, process: int, run: _Run) -> list[_Run]:
        """Return the parts of a run that were not delivered before."""
        seen = self._seen[process].setdefault(run.sender, Intervals())
        last = run.number + run.count - 1
        fresh = [(run.number, last)]
        # Most runs have nothing that was there before; only of others the rest is worked out.
        if seen.lowest_in(run.number, last):
            fresh = list(iter(Intervals(fresh).minus(seen)))
        seen.add(run.number, last)
        return [_Run(run.sender, a, b - a + 1, run.at + a - run.number, run.line, run.excerpt) for a, b in fresh]

    def _advance(self) -> None:
        # Only a process whose front has changed can let something leave: its new front was the last that the others
        # waited for, or nobody's. It ends: a process comes into `changed` only when messages have left a queue, and
        # nothing comes into one here.
        changed = [process for process, queue in enumerate(self._queues) if queue]
        while changed:
            process = changed.pop()
            queue = self._queues[process]
            # A whole run leaves at a time, and then the next front may leave as well. It ends: at each turn one message
            # or more leaves this queue.
            while queue and (leaving := self._leaving(process, queue[0])):
                held, count = leaving
                for each in held:
                    self._leave(each, count)
                changed += [each for each in held if each != process]

    def _leaving(self, process: int, front: _Run) -> tuple[list[int], int] | None:
        """Return the processes that hold the front of `process`, itself among them, and the number of messages from it
        on that can leave; None if none can.
        """
        held, last = self._holders(front.sender, front.number)
        count = min(front.count, last - front.number + 1)
        if process not in held:
            self._strange = True
            return [process], count
        for each in held if len(held) > 1 else ():
            queue = self._queues[each]
            if not queue or queue[0].number != front.number or queue[0].sender != front.sender:
                return None
            # Runs are cut differently at different processes: only messages that are at the front of
            # all queues leave together.
            count = min(count, queue[0].count)
        return held, count

    def _leave(self, process: int, count: int) -> None:
        front = self._queues[process][0]
        if count == front.count:
            self._queues[process].popleft()
        else:
            front.number, front.count, front.at = front.number + count, front.count - count, front.at + count

    def _holders(self, sender: str, number: int) -> tuple[list[int], int]:
        """Return the processes that ever deliver the message, and the last number that the same processes deliver."""
        first, last, held = self._held.get(sender, (1, 0, []))
        # Who holds a message changes only at ends of ranges, so one look-up serves long stretches of numbers.
        if not first <= number <= last:
            parts = [each.get(sender, Intervals()).constant_from(number) for each in self._delivered]
            held = [process for process, (inside, _) in enumerate(parts) if inside]
            last = min(end for _, end in parts)
            self._held[sender] = number, last, held
        return held, last

    def _shortest_cycle(self) -> list[int]:
        """Return the shortest cycle of processes with a front that waits for another's; empty if there is none yet."""
        waits: dict[int, list[int]] = {}
        for process, queue in enumerate(self._queues):
            if queue:
                held, _ = self._holders(queue[0].sender, queue[0].number)
                # Who has nothing queued may yet be fed what is waited for. Who has another message in front, and this
                # one somewhere behind, has contradicted: no feeding takes that back.
                fronts = [(each, self._queues[each][0]) for each in held if self._queues[each]]
                mine = queue[0].sender, queue[0].number
                waits[process] = [each for each, run in fronts if (run.sender, run.number) != mine]
        found: list[int] = []
        # The shortest one: a contradiction of two processes is easier to read than one through all of them.
        for start in waits:
            cycle = _cycle_through(start, waits)
            found = cycle if cycle and (not found or len(cycle) < len(found)) else found
        return found

    def _look_behind(self, process: int, runs: list[_Run]) -> None:
        """Find the front of the process that waits for this one."""
        # The process before this one in the cycle waits for it. Of a process outside of the cycle nothing is sought.
        place = (self._cycle.index(process) - 1) % len(self._cycle) if process in self._cycle else -1
        if place < 0 or place in self._behind:
            return
        front = self._fronts[place]
        found = next((run for run in runs if run.has(front.sender, front.number)), None)
        if found is not None:
            self._behind[place] = found.where(front.number)


def _cycle_through(start: int, after: dict[int, list[int]]) -> list[int]:
    """Return the shortest cycle through `start`, breadth first; empty if there is none."""
    came_from: dict[int, int] = {}
    ring = [start]
    # It ends: each ring has only processes that were in none before.
    while ring and start not in came_from:
        reached = []
        for a in ring:
            for b in after.get(a, ()):
                if b not in came_from:
                    came_from[b] = a
                    reached.append(b)
        ring = reached
    if start not in came_from:
        return []
    # From its end back: `came_from` has one way to each process, which is a shortest one.
    cycle = [start]
    # It ends: a way is as long as the ring in which its end was reached.
    while came_from[cycle[-1]] != start:
        cycle.append(came_from[cycle[-1]])
    return [start, *cycle[:0:-1]]
