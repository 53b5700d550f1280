"""A replicated state as programs use it, in real groups within this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest

import gcom
import gcom.replicated
from gcom.errors import BadValue, Detached, GComTimeout, MessageTooLarge, NotAMember, WouldBlock
from gcom.replicated import CommandApplied, MachineFailed, MembersChanged, OutcomeUnknown, StateReplaced, command, query
from gcom.replicated.messages import encode
from tests.replicated.machines import Dice, Order, SoldOut, Stock
from tests.runtime.nodes import until

CUT = gcom.Faults(seed=1, cuts=frozenset({("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")}))


class Ground:
    """Nodes of one registry, each with the state open."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.registry = stack.enter_context(gcom.embedded())
        self.nodes: dict[str, gcom.Node] = {}

    def open(self, name: str, machine: type[gcom.replicated.Machine] = Stock) -> gcom.replicated.Machine:
        if name not in self.nodes:
            self.nodes[name] = self._stack.enter_context(gcom.connect(name, self.registry.address))
        return self._stack.enter_context(gcom.replicated.open(self.nodes[name], "stock", machine))

    def stock(self, name: str) -> Stock:
        found = self.open(name)
        assert isinstance(found, Stock)
        return found


@pytest.fixture
def ground() -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(stack)


def test_all_have_what_one_was_told(ground: Ground) -> None:
    a, b = ground.stock("a"), ground.stock("b")
    assert a.put("nail", 5) == 5
    assert b.take("nail", 2) == 3
    assert a.fresh().of("nail") == b.fresh().of("nail") == 3
    assert b.order(Order("nail", 2**70)) == Order("nail", 2**70)
    c = ground.stock("c")
    assert c.all() == {"nail": 3}
    assert c.place()[1] == "c"
    until(lambda: b.present() == ["a", "b", "c"], "the members")
    a.close()
    until(lambda: b.present() == ["b", "c"], "the members")


def test_a_refusal_travels_and_a_failure_changes_nothing(ground: Ground, expect_log: Callable[[str], None]) -> None:
    a, b = ground.stock("a"), ground.stock("b")
    a.put("nail", 1)
    with pytest.raises(SoldOut) as refused:
        b.take("nail", 2)
    assert refused.value.args == ("nail", 1)
    expect_log("KeyError: 'nail'")
    with pytest.raises(MachineFailed, match=r"spoil: KeyError: 'nail'; the state is as it was before"):
        b.spoil("nail")
    assert a.fresh().all() == b.fresh().all() == {"nail": 1}
    with pytest.raises(KeyError):
        a.of("nut")


def test_bad_calls_are_refused_before_anything_is_sent(ground: Ground) -> None:
    a = ground.stock("a")
    index = a.replicas.index
    with pytest.raises(TypeError):
        a.take("nail")  # type: ignore[call-arg]
    with pytest.raises(BadValue, match="cannot travel"):
        a.put("nail", object())  # type: ignore[arg-type]
    with pytest.raises(MessageTooLarge):
        a.put("x" * 16 * 1024 * 1024, 1)
    with pytest.raises(AttributeError, match=r"Stock\.pieces is the machine's own: write a query"):
        _ = a.pieces
    with pytest.raises(AttributeError, match="write a command"):
        a.pieces = {}

    async def watch(_: object) -> None: ...

    with pytest.raises(BadValue, match="on_change is an async function"):
        a.replicas.watch(watch)
    assert a.replicas.index == index
    assert a.put("nail", 1) == 1


class Reserved(gcom.replicated.Machine):
    @command
    def submit(self) -> None:  # type: ignore[override]
        pass


class Later(gcom.replicated.Machine):
    @command
    async def take(self) -> None:
        pass


class Locked(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.event = Event()


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Reserved, r"Reserved\.submit cannot be a command"),
        (Later, r"Later\.take must be a plain method"),
        (Locked, "type Event cannot travel"),
        (dict, "needs a gcom.replicated.Machine"),
    ],
)
def test_a_machine_that_cannot_be_replicated_is_refused(ground: Ground, machine: type, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        ground.open("a", machine)


def test_a_query_gives_away_nothing_of_the_state(ground: Ground) -> None:
    a = ground.stock("a")
    a.put("nail", 1)
    a.all()["nail"] = 99
    assert a.of("nail") == 1


def test_a_thousand_may_be_under_way_in_their_order(ground: Ground) -> None:
    a, b = ground.stock("a"), ground.stock("b")
    futures = [stock.submit(stock.put, "nail", 1) for _ in range(1500) for stock in (a, b)]
    assert sorted(it.result(30) for it in futures) == list(range(1, 3001))
    mine = [it.result() for it in futures[::2]]
    assert mine == sorted(mine)
    assert a.submit.of("nail").result(10) == 3000  # a query that is submitted is fresh
    with pytest.raises(SoldOut):
        a.submit.take("nail", 4000).result(10)


def test_a_command_that_comes_before_the_one_it_follows_is_sent_again(ground: Ground) -> None:
    """A total order need not keep the order of one sender, as after a crash of the leader."""
    a, b = ground.stock("a"), ground.stock("b")
    a.put("nail", 1)
    state = a.replicas
    with state._lock:
        window, pack = state._calls.window, state._kind.codec.pack
        first, second = (window.begin_surely("put", pack([["nail", count], {}])) for count in (1, 2))
    for it in (second, first):
        state._group.send(encode(it.message), None)
    assert [it.future.result(30) for it in (first, second)] == [2, 4]
    assert b.fresh().of("nail") == 4


def test_who_watches_is_told_each_change_once(ground: Ground) -> None:
    a, b = ground.stock("a"), ground.stock("b")
    seen: list[gcom.replicated.Change] = []
    nested: list[object] = []

    def on_change(change: gcom.replicated.Change) -> None:
        if isinstance(change, MembersChanged):  # b has come, of which it may be told as late as this
            return
        seen.append(change)
        try:
            a.put("nut", 1)
        except WouldBlock as error:
            nested.append(error)

    end = a.replicas.watch(on_change)
    b.put("nail", 2)
    with pytest.raises(SoldOut):
        b.take("nail", count=3)
    until(lambda: len(seen) == 2, "both changes")
    end()
    a.put("nail", 1)
    put, refused = seen
    assert isinstance(put, CommandApplied)
    assert (put.command, put.arguments, put.result, put.process) == ("put", ("nail", 2), 2, b.replicas.process)
    assert isinstance(refused, CommandApplied)
    assert isinstance(refused.error, SoldOut)
    assert refused.keywords == {"count": 3}
    assert len(nested) == 2  # a command in the thread that applies commands would wait for itself
    assert len(seen) == 2


def test_who_is_cut_off_comes_back_and_each_command_counts_once(
    ground: Ground, expect_log: Callable[[str], None]
) -> None:
    expect_log("have faults, on purpose")
    a, b, c = ground.stock("a"), ground.stock("b"), ground.stock("c")
    for node in ground.nodes.values():
        node.inject(CUT)
    futures = [a.submit.put("nail", 1) for _ in range(20)]
    with pytest.raises(OutcomeUnknown) as unknown:
        a.within(0.2).put("nail", 1)
    until(lambda: b.present() == ["b", "c"], "a view without a")
    with ThreadPoolExecutor() as pool:  # it has its own limit, and not that of `open`
        assert isinstance(pool.submit(a.within(0.2).fresh().all).exception(5), Detached | GComTimeout)
    assert b.put("nut", 1) == 1
    for node in ground.nodes.values():
        node.inject("")
    assert unknown.value.retry(60) == 21
    assert [it.result(60) for it in futures] == list(range(1, 21))
    assert unknown.value.retry(60) == 21
    assert a.fresh().all() == c.fresh().all() == {"nail": 21, "nut": 1}
    assert a.put("nail", 1) == 22


def test_an_outcome_is_known_through_the_state_that_is_opened_next(
    ground: Ground, expect_log: Callable[[str], None]
) -> None:
    expect_log("have faults, on purpose")
    a, b = ground.stock("a"), ground.stock("b")
    first: Future[int] = a.submit.put("nail", 1)
    assert first.result(10) == 1
    ground.nodes["b"].inject("seed=1,drop=1")
    ground.nodes["a"].inject("seed=1,drop=1")
    lost = a.submit.put("nail", 1)
    a.replicas._end(NotAMember("over"))
    with pytest.raises(OutcomeUnknown, match=r"retry\(via=...\) finds out") as unknown:
        lost.result(10)
    for node in ground.nodes.values():
        node.inject("")
    assert unknown.value.retry(60, via=b) == 2
    assert unknown.value.retry(60, via=b) == 2
    assert b.fresh().of("nail") == 2


def test_a_closed_state_says_so(ground: Ground) -> None:
    a = ground.stock("a")
    a.close()
    a.close()
    for call in (lambda: a.put("nail", 1), lambda: a.all(), lambda: a.fresh().all()):
        with pytest.raises(NotAMember, match="the replicated state 'stock' was closed"):
            call()


def test_a_machine_that_is_not_deterministic_is_found_and_mended(
    ground: Ground, expect_log: Callable[[str], None]
) -> None:
    expect_log("differed from the other replicas' at index")
    states = [ground.open(name, Dice) for name in "abc"]
    a, b, c = (it for it in states if isinstance(it, Dice))
    replaced: list[object] = []
    for it in (b, c):
        it.replicas.watch(lambda change: replaced.append(change) if isinstance(change, StateReplaced) else None)
    a.cheat()
    assert len({it.fresh().total() for it in (a, b, c)}) == 3
    for _ in range(1100):
        a.submit.throw()
    until(lambda: len(replaced) == 2, "the others' state")
    assert a.fresh().total() == b.within(30).fresh().total() == c.within(30).fresh().total()
    assert b.throw() == 1101


class Counting(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.count = 0

    @command
    def add(self) -> int:
        return self.twice() // 2

    @command
    def twice(self) -> int:
        self.count += 1
        return 2 * self.count

    @query
    def value(self) -> int:
        return self.count


def test_a_command_may_call_another_within_the_machine(ground: Ground) -> None:
    found = ground.open("a", Counting)
    assert isinstance(found, Counting)
    assert found.add() == 1
    assert found.value() == 1


def test_members_are_told_as_a_change(ground: Ground) -> None:
    a = ground.stock("a")
    seen: list[tuple[str, ...]] = []
    a.replicas.watch(lambda it: seen.append(it.members) if isinstance(it, MembersChanged) else None)
    b = ground.stock("b")
    until(lambda: (a.replicas.process, b.replicas.process) in seen, "b")
    b.close()
    until(lambda: seen[-1] == (a.replicas.process,), "a alone")


def test_opening_has_a_limit(ground: Ground, expect_log: Callable[[str], None]) -> None:
    expect_log("have faults, on purpose")
    ground.open("a")
    ground.nodes["a"].inject("seed=1,drop=1")
    with gcom.connect("b", ground.registry.address) as node, pytest.raises(GComTimeout):
        gcom.replicated.open(node, "stock", Stock, timeout_s=0.5)
    ground.nodes["a"].inject("")


@pytest.mark.parametrize("name", gcom.replicated.__all__)
def test_each_public_name_is_explained(name: str) -> None:
    thing = getattr(gcom.replicated, name)
    assert name == "Change" or (thing.__doc__ and not thing.__doc__.startswith(f"{name}("))
