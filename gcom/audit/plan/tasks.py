"""The plan's tasks, as values that any engine can send to where they run: to another process, or another machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from gcom.audit.applications.judging import ApplicationJudgement, judge_application
from gcom.audit.input.catalogue import Chain
from gcom.audit.plan.chains import starts_of
from gcom.audit.plan.engine import TaskRow
from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.judging import judge
from gcom.audit.rules.table import RULES
from gcom.audit.scan.chain import scan
from gcom.audit.summary.excerpts import MessageRequest
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key
from gcom.audit.summary.tally import Tally

CHAIN, GROUP, APPLICATION = "chain", "group", "application"  # what a summary is of
CHANGED = "changed"  # in place of a rule: the log did not give the second reading what it gave the first
Seeds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FirstReading:
    """The task of the scan: a chain's summaries, one per group, and what is known of the chain."""

    chains: list[Chain]
    seeds: Seeds

    def __call__(self, index: int) -> Iterator[TaskRow]:
        summaries, applications, of_chain = scan(self.chains[index], self.seeds)
        for key, summary in summaries.items():
            yield TaskRow(*key, of_chain.process, GROUP, 0, index, 0, summary)
        for (about, name), each in applications.items():
            yield TaskRow(about, name, of_chain.process, APPLICATION, 0, index, 0, each)
        # One row for the chain itself, beside one per group: the driver collects only these, summaries
        # stay with the engine.
        yield TaskRow("", "", of_chain.process, CHAIN, 0, index, 0, of_chain)


@dataclass(frozen=True, slots=True)
class GroupJudge:
    """The task that judges one (group, instance), over its processes' summaries."""

    coverage: dict[str, str]
    all_rules: bool

    def __call__(self, rows: list[TaskRow]) -> Judgement:
        of = {row.chain: row.thing for row in rows}
        # Joining the summaries of a process uses them up, so where each chain began is worked out first.
        starts = starts_of(of)
        key = rows[0].group, rows[0].instance
        judgement = judge(InstanceLogs.of(key, list(of.values()), self.coverage), all_rules=self.all_rules)
        judgement.starts = starts if judgement.requests else {}
        return judgement


@dataclass(frozen=True, slots=True)
class ApplicationJudge:
    """The task that judges one thing that stands on groups, over all records about it."""

    coverage: dict[str, str]

    def __call__(self, rows: list[TaskRow]) -> ApplicationJudgement:
        return judge_application((row.thing for row in rows), self.coverage)


@dataclass(frozen=True, slots=True)
class SecondReading:
    """The tasks of a second reading: of chains for the messages that rules request, and of the excerpts these give."""

    chains: list[Chain]
    requests: dict[Key, dict[str, MessageRequest]]  # by rule
    starts: dict[Key, dict[int, tuple[int, int]]]  # of chains, as `Judgement.starts`
    extents: dict[int, tuple[int, int, bool]]  # how much the first reading gave of each chain
    closed: frozenset[str]  # processes whose logs are complete

    def read(self, index: int) -> Iterator[TaskRow]:
        """Go through a chain once more, and yield what rules request of it."""
        process = self.chains[index].process
        recorders = {
            key: MessageRecorder(process, list(self.requests[key].values()), starts[index])
            for key, starts in self.starts.items()
            if index in starts
        }
        # No fingerprints are compared here, so any seeds will do; the pass is for what the recorders record.
        *_, found = scan(self.chains[index], (0, 0), recorders)
        # 1. The summaries have what the first reading gave. 2. A file is cut, or goes away. 3. Messages that the
        # summaries know are in no excerpt: to each rule they would be missing, and nobody broke a promise.
        if found.extent != self.extents[index]:
            yield from (TaskRow(*key, CHANGED, process, 0, index, 0, None) for key in recorders)
            return
        for key, recorder in recorders.items():
            for nth, (rule, of, bucket, excerpt) in enumerate(recorder.placed):
                yield TaskRow(*key, rule, of, bucket, index, nth, excerpt)

    def judge_bucket(self, rows: list[TaskRow]) -> Tally:
        """Judge a rule over all excerpts of a bucket."""
        first = rows[0]
        if first.name == CHANGED:
            return Tally(unknown=1, reason=f"the log of {first.of} changed while it was read")
        judge_one = RULES[first.name].judge_bucket
        assert judge_one is not None, "rules of streams are judged by judge_stream"
        request = self.requests[first.group, first.instance][first.name]
        return judge_one(request, first.of, [row.thing for row in rows], self.closed)

    def judge_stream(self, rows: Iterator[TaskRow]) -> Tally:
        """Judge a rule over all deliveries of a group, which come by bucket of places."""
        first = next(rows)
        judge_all = RULES[first.name].judge_stream
        assert judge_all is not None, "other rules are judged by judge_bucket"
        request = self.requests[first.group, first.instance][first.name]
        return judge_all(request, ((row.bucket, row.thing) for row in chain([first], rows)))
