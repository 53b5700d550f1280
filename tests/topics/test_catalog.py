"""The catalog, as a pure machine: the rule of owners, and what departures do to it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.replicated.machine import CommandContext
from gcom.topics.served.catalog import TopicCatalog


class Ordered:
    """A catalog, and who calls its commands."""

    def __init__(self) -> None:
        self.catalog, self.index = TopicCatalog(), 0
        self.members: tuple[str, ...] = ()

    def by(self, process: str) -> TopicCatalog:
        self.index += 1
        vars(self.catalog)["_context"] = CommandContext(self.index, process, self.members)
        return self.catalog

    def enter(self, name: str, store: str = "s", epoch: int = 0, topics: tuple[str, ...] = ()) -> list[str]:
        process = f"{name}#{self.index}"
        self.members = (*self.members, process)
        self.by(process).on_members(self.members)
        return self.by(process).serve(f"{name}:1", name, store, epoch, list(topics))

    def kill(self, name: str) -> None:
        self.members = tuple(it for it in self.members if it.partition("#")[0] != name)
        self.by("").on_members(self.members)


@pytest.fixture
def ordered() -> Ordered:
    return Ordered()


def test_fewest_topics_and_of_several_the_smallest_name(ordered: Ordered) -> None:
    for name in "cab":
        ordered.enter(name)
    for topic in ("t1", "t2", "t3", "t4"):
        ordered.by("").ensure(topic, 0)
    assert ordered.catalog.owners() == {"t1": "a", "t2": "b", "t3": "c", "t4": "a"}


def test_topics_of_a_server_that_is_gone_go_to_others_with_a_later_epoch(ordered: Ordered) -> None:
    ordered.enter("a")
    ordered.enter("b", epoch=40)
    for topic in ("t1", "t2", "t3"):
        ordered.by("").ensure(topic, 0)
    before = {topic: it.epoch for topic, it in ordered.catalog.topics.items()}
    ordered.kill("a")
    assert ordered.catalog.owners() == {"t1": "b", "t2": "b", "t3": "b"}
    assert ordered.catalog.topics["t1"].epoch > before["t1"] > 40
    assert ordered.catalog.topics["t2"].epoch == before["t2"]
    ordered.enter("c")
    assert Counter(ordered.catalog.owners().values()) == {"b": 2, "c": 1}


def test_a_file_keeps_its_topics_and_says_so(ordered: Ordered) -> None:
    ordered.enter("a", "file a", topics=("t1",))
    assert ordered.enter("b", "file b", topics=("t1", "t2")) == ["t1"]
    ordered.kill("a")
    assert ordered.catalog.owners() == {"t1": "", "t2": "b"}
    ordered.by("").ensure("t1", 0)
    assert ordered.catalog.owners()["t1"] == ""
    ordered.enter("a", "file a", topics=("t1",))
    assert ordered.catalog.owners()["t1"] == "a"


def test_a_move_stays_within_the_store(ordered: Ordered) -> None:
    ordered.enter("a")
    ordered.enter("b")
    ordered.enter("c", "other")
    ordered.by("").ensure("t", 0)
    assert ordered.by("").move("t", "b")
    assert not ordered.by("").move("t", "c")
    assert not ordered.by("").move("unknown", "a")
    assert ordered.catalog.owners() == {"t": "b"}


@given(st.lists(st.tuples(st.sampled_from(["enter", "kill", "ensure"]), st.sampled_from("abcd")), max_size=40))
def test_one_owner_each_and_epochs_that_rise(steps: list[tuple[str, str]]) -> None:
    ordered, highest = Ordered(), dict[str, int]()
    for what, name in steps:
        alive = {it.partition("#")[0] for it in ordered.members}
        match what:
            case "enter" if name not in alive:
                ordered.enter(name)
            case "kill":
                ordered.kill(name)
            case "ensure":
                ordered.by("").ensure(f"t{name}", 0)
        for topic, it in ordered.catalog.topics.items():
            assert it.epoch >= highest.get(topic, 0)
            assert (it.process in ordered.members) or (not ordered.members and not it.process)
            highest[topic] = it.epoch
        epochs = [it.epoch for it in ordered.catalog.topics.values()]
        assert len(set(epochs)) == len(epochs)
