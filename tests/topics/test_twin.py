"""The store beside a twin of dictionaries: whatever is sent, again, in batches and by whom, both say the same."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from gcom import topics
from gcom.topics import Fenced, Producer, SequenceGap, SequenceReused, TopicReceipt

NAMES = st.sampled_from(["x", "y"])
TOPICS = st.sampled_from(["a", "b"])
SEQS = st.integers(0, 12)
BODIES = st.sampled_from(["1", "2"])
Owner = tuple[str, str]  # topic, producer


class StoreAndTwin(RuleBasedStateMachine):
    """The twin knows each topic as a list, and each producer by its messages and its newest opening."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place
        self.store = topics.open(place)
        self.log: dict[str, list[str]] = {"a": [], "b": []}
        self.stored: dict[Owner, dict[int, tuple[str, int]]] = {}
        self.newest: dict[Owner, Producer] = {}
        self.older: list[tuple[Owner, Producer]] = []
        self.first: dict[str, int] = {"a": 0, "b": 0}

    def teardown(self) -> None:
        self.store.close()

    @initialize()
    def begin(self) -> None:
        for topic in self.log:
            self.store.topic(topic)

    @rule(topic=TOPICS, name=NAMES)
    def open_anew(self, topic: str, name: str) -> None:
        producer = self.store.topic(topic).producer(name)
        known = self.stored.setdefault((topic, name), {})
        assert producer.last_seq == max(known, default=None)
        if (topic, name) in self.newest:
            self.older.append(((topic, name), self.newest[topic, name]))
        self.newest[topic, name] = producer

    @rule(topic=TOPICS, name=NAMES, pairs=st.lists(st.tuples(SEQS, BODIES), min_size=1, max_size=4))
    def send(self, topic: str, name: str, pairs: list[tuple[int, str]]) -> None:
        if (topic, name) not in self.newest:
            self.open_anew(topic, name)
        producer = self.newest[topic, name]
        expected = self.judged(topic, name, pairs)
        found = outcome(lambda: producer.send_many(pairs))
        assert found == expected if isinstance(expected, type) else found is not None
        if not isinstance(expected, type):
            assert isinstance(found, list)
            assert [(it.offset, it.duplicate) for it in found] == expected

    def judged(self, topic: str, name: str, pairs: list[tuple[int, str]]) -> list[tuple[int | None, bool]] | type:
        """Say what must come of it, and take over what is new."""
        known = dict(self.stored[topic, name])
        log, answers = list(self.log[topic]), list[tuple[int | None, bool]]()
        trimmed = max((seq for seq, (_, offset) in known.items() if offset < self.first[topic]), default=-1)
        for seq, body in pairs:
            if seq <= trimmed:
                answers.append((None, True))  # its body is no longer known
            elif seq in known:
                if known[seq][0] != body:
                    return SequenceReused
                answers.append((known[seq][1], True))
            elif seq < max(known, default=-1):
                return SequenceGap
            else:
                known[seq] = body, len(log)
                answers.append((len(log), False))
                log.append(body)
        self.stored[topic, name], self.log[topic] = known, log
        return answers

    @rule(data=st.data(), seq=SEQS, body=BODIES)
    def a_zombie_sends(self, data: st.DataObject, seq: int, body: str) -> None:
        if self.older:
            _, producer = data.draw(st.sampled_from(self.older))
            assert outcome(lambda: producer.send_many([(seq, body)])) is Fenced

    @rule(topic=TOPICS, count=st.integers(0, 5))
    def trim(self, topic: str, count: int) -> None:
        first = max(self.first[topic], len(self.log[topic]) - count)
        assert self.store.topic(topic).trim(count=count) == first - self.first[topic]
        self.first[topic] = first

    @rule()
    def close_and_open(self) -> None:
        self.store.close()
        self.store = topics.open(self.place)
        self.newest.clear()
        self.older.clear()

    @invariant()
    def the_topics_are_the_twins(self) -> None:
        for topic, log in self.log.items():
            found = list(self.store.topic(topic).read())
            assert [it.text for it in found] == log[self.first[topic] :]
            assert [it.offset for it in found] == list(range(self.first[topic], len(log)))


def outcome(call: Callable[[], list[TopicReceipt]]) -> list[TopicReceipt] | type:
    try:
        return call()
    except (Fenced, SequenceGap, SequenceReused) as error:
        return type(error)


def test_the_store_and_its_twin(new_place: Callable[[], str]) -> None:
    class Machine(StoreAndTwin):
        def __init__(self) -> None:
            super().__init__(new_place())

    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=15, max_examples=20))
