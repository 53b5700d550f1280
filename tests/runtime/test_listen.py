"""A listener: callbacks one at a time and in order, from its own thread, or from whoever read the message."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest

import gcom
from gcom.runtime.pyro.spare_workers import PATIENCE_S, SpareWorkers
from gcom.values import limits
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, next_of, node_of, take, until

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


@pytest.fixture(params=[False, True], ids=["own_thread", "direct"])
def direct(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_a_callback_may_send(here: Cluster, direct: bool) -> None:
    alice, bob = here.members("alice", "bob")

    def answer(message: gcom.Message) -> None:
        if message.name == "alice":
            bob.send(f"re: {message.text}")

    bob.listen(on_message=answer, on_view=lambda view: bob.send(f"view {view.number}"), direct=direct)
    alice.send_many(f"{i}" for i in range(2_000))
    texts: list[str] = []
    while len(texts) < 2_001:
        texts += [message.text for message in take(alice, 1) if message.name == "bob"]
    assert texts == ["view 2", *[f"re: {i}" for i in range(2_000)]]


@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("raised", [ZeroDivisionError("of the application"), SystemExit(3), CancelledError()])
def test_a_callback_that_raises_is_logged_and_the_next_event_goes_on(
    here: Cluster,
    expect_log: ExpectLog,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    direct: bool,
    raised: BaseException,
    printed: bool,
) -> None:
    expect_log("a callback of group news failed")
    alice, bob = here.members("alice", "bob")
    heard: list[str] = []

    def listen(message: gcom.Message) -> None:
        heard.append(message.text)
        if message.text == "bad":
            raise raised

    def print_exc() -> None:
        raise BrokenPipeError("nobody reads")

    if not printed:
        monkeypatch.setattr("traceback.print_exc", print_exc)
    bob.listen(on_message=listen, direct=direct)
    texts = ["good", "bad", "good again"]
    for count, text in enumerate(texts, 1):
        alice.send(text)
        until(partial(lambda count: len(heard) == count, count), "the message")
    assert heard == texts
    assert (type(raised).__name__ in capfd.readouterr().err) == printed


def test_events_views_and_messages_are_called_back_in_order_until_the_departure(here: Cluster, direct: bool) -> None:
    (alice,) = here.members("alice")
    heard: list[object] = []
    alice.listen(heard.append, heard.append, lambda event: heard.append(type(event)), direct=direct)
    alice.send("x")
    until(lambda: len(heard) == 4, "the message")
    alice.leave()
    until(lambda: len(heard) == 5, "the departure")
    kinds = [it for it in heard if isinstance(it, type)]
    assert kinds == [gcom.ViewChange, gcom.Message, gcom.Departure]
    assert (heard[1], heard[3]) == (alice.view, gcom.Message(alice.process, 1, 1, "x", None, alice.instance))


def test_a_callback_does_not_wait_for_its_own_reading(here: Cluster, direct: bool) -> None:
    (alice,) = here.members("alice")
    caught: list[gcom.WouldBlock] = []
    sent: list[int] = []
    size = limits.RUN_BYTES_MAX // 2

    def flood(_: gcom.Message) -> None:
        try:
            while not caught:
                alice.send(b"x" * size)
                sent.append(1)
        except gcom.WouldBlock as error:
            caught.append(error)

    alice.listen(on_message=flood, direct=direct)
    alice.send("go")
    until(lambda: bool(caught), "the refusal")
    assert "'news' is full, and a callback must not wait" in str(caught[0])
    bound = (limits.WINDOW_BYTES_MAX + limits.PENDING_BYTES_MAX) // size + 2
    assert len(sent) <= bound
    alice.flush(LIMIT_S)


def test_a_callback_may_leave(here: Cluster, direct: bool) -> None:
    alice, bob = here.members("alice", "bob")
    bob.listen(on_message=lambda _: bob.leave(), direct=direct)
    alice.send("go away")
    until(lambda: alice.members == ("alice",), "the leave")


def test_a_callback_may_leave_with_a_full_window(here: Cluster, direct: bool) -> None:
    (alice,) = here.members("alice")
    left: list[bool] = []

    def flood_and_leave(message: gcom.Message) -> None:
        if message.payload != "go":
            return
        with suppress(gcom.WouldBlock):
            while True:
                alice.send(b"x" * 100_000)
        alice.leave()
        left.append(True)

    alice.listen(on_message=flood_and_leave, direct=direct)
    alice.send("go")
    until(lambda: bool(left), "the leave")
    assert alice.pending == 0


# direct


def listen_directly(group: gcom.Group, **callbacks: Callable[..., object]) -> None:
    """Listen, and wait until the listener's thread does: what comes next is a worker's."""
    group.listen(**callbacks, direct=True)
    membership = group._membership
    until(lambda: membership.direct_listener is not None and membership.listened_by is None, "the listener's wait")


def by_worker() -> bool:
    return threading.current_thread().name.startswith("Pyro-Worker")


def test_who_reads_a_message_hands_it_over(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    heard: list[bool] = []
    listen_directly(bob, on_message=lambda _: heard.append(by_worker()))
    alice.send("x")
    until(lambda: bool(heard), "the message")
    assert heard == [True]


def test_without_a_peers_frame_it_is_the_listeners_thread(here: Cluster) -> None:
    (alice,) = here.members("alice")
    threads: list[str] = []
    alice.listen(on_event=lambda _: threads.append(threading.current_thread().name), direct=True)
    alice.send("x")
    here.members("bob")
    until(lambda: len(threads) == 3, "two views and a message")
    assert set(threads) == {"gcom listener news"}


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSALTOTAL"])
def test_callbacks_never_run_beside_each_other_and_keep_their_order(here: Cluster, ordering: str) -> None:
    groups = here.members("alice", "bob", "carol", "dave", ordering=ordering)
    inside, most = Counter[str](), Counter[str]()
    heard: dict[str, list[tuple[str, int]]] = {group.process: [] for group in groups}

    def listen(group: gcom.Group) -> None:
        def hear(message: gcom.Message) -> None:
            inside[group.process] += 1
            most[group.process] = max(most[group.process], inside[group.process])
            heard[group.process].append((message.sender, message.number))
            if message.text == "ping":
                group.send("pong")
            inside[group.process] -= 1

        group.listen(on_message=hear, direct=True)

    for group in groups:
        listen(group)
    # One by one and many together: workers and the listener's thread take turns.
    for _ in range(50):
        for group in groups:
            group.send("ping")
    for group in groups:
        group.send_many(["x"] * 500)
    until(lambda: all(len(it) == 4 * (50 + 4 * 50 + 500) for it in heard.values()), "all of it")
    assert set(most.values()) == {1}
    for numbers in heard.values():
        for sender in heard:
            assert [number for who, number in numbers if who == sender] == list(range(1, 751))
    if ordering == "CAUSALTOTAL":
        assert all(it == heard[groups[0].process] for it in heard.values())


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_a_peer_is_answered_while_a_callback_takes_long(here: Cluster, ordering: str) -> None:
    alice, bob = here.members("alice", "bob", ordering=ordering)
    inside, on = threading.Event(), threading.Event()
    heard: list[str] = []

    def hear(message: gcom.Message) -> None:
        heard.append(message.text)
        if message.text == "first" and by_worker():
            inside.set()
            assert on.wait(LIMIT_S)

    listen_directly(bob, on_message=hear)
    alice.send("first")
    assert inside.wait(LIMIT_S)
    # Each needs an answer of bob's, over the one connection whose worker is away.
    alice.send("second", held_by="all")
    alice.send_many(["x"] * 1_000)
    alice.send("last", held_by="all")
    assert heard == ["first"]
    on.set()
    until(lambda: len(heard) == 1_003, "the rest")
    assert (heard[1], heard[-1]) == ("second", "last")
    # And the worker is back: what comes now it hands over.
    alice.send("again", held_by="all")
    until(lambda: heard[-1] == "again", "the message after")
    assert alice.members == ("alice", "bob")


def test_who_dies_while_a_callback_takes_long_is_noticed(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    inside, on = threading.Event(), threading.Event()
    events: list[object] = []

    def hear(event: gcom.Event) -> None:
        if isinstance(event, gcom.Message) and by_worker():
            inside.set()
            assert on.wait(LIMIT_S)
        events.append(event)

    listen_directly(bob, on_event=hear)
    alice.send("x")
    assert inside.wait(LIMIT_S)
    alice.leave()
    until(lambda: bob.members == ("bob",), "the view without alice")
    on.set()
    until(lambda: len(events) == 3, "the view after the message")
    assert [type(it) for it in events] == [gcom.ViewChange, gcom.Message, gcom.ViewChange]


def test_a_callback_may_close_its_node(here: Cluster, direct: bool) -> None:
    alice, bob = here.members("alice", "bob")
    closed = threading.Event()

    def close(_: gcom.Message) -> None:
        node_of(bob).close(LIMIT_S)
        closed.set()

    bob.listen(on_message=close, direct=direct)
    alice.send("go away")
    assert closed.wait(LIMIT_S)
    until(lambda: alice.members == ("alice",), "the leave")


def test_a_failure_of_gcoms_own_in_a_worker_ends_the_node(
    here: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    alice, bob = here.members("alice", "bob")
    events: list[gcom.Event] = []
    listen_directly(bob, on_event=events.append)
    monkeypatch.setattr(bob._session, "consumed", lambda _: 1 // 0)
    alice.send("x")
    until(lambda: any(isinstance(it, gcom.Departure) for it in events), "the departure")
    assert "ZeroDivisionError" in capfd.readouterr().err
    with pytest.raises(gcom.Detached, match="a defect in GCom"):
        bob.send("y")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failure_of_gcoms_own_in_the_listeners_thread_ends_the_node_too(
    here: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alice,) = here.members("alice")
    heard: list[gcom.Message] = []
    alice.listen(on_message=heard.append)
    monkeypatch.setattr(alice._session, "consumed", lambda _: 1 // 0)
    alice.send("x")
    until(lambda: alice._session.ended is not None, "the end")
    # Here, so that what the thread raises last is of this test.
    until(lambda: not any(it.name == "gcom listener news" for it in threading.enumerate()), "the thread's end")
    assert len(heard) == 1
    assert next_of(alice, gcom.Departure).reason == "defect"  # and who wants may read on


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_slow_callbacks_in_a_row_take_one_thread_more(here: Cluster, ordering: str) -> None:
    alice, bob = here.members("alice", "bob", ordering=ordering)
    heard = threading.Semaphore(0)
    most: list[int] = []

    def hear(_: gcom.Message) -> None:
        if by_worker():  # until the next message comes to a spare one
            until(lambda: bool(spare_workers()), "a spare worker")
        most.append(len(spare_workers()))
        heard.release()

    listen_directly(bob, on_message=hear)
    for _ in range(10):
        alice.send("x")
        assert heard.acquire(timeout=LIMIT_S)
    assert max(most) == 1


def spare_workers() -> list[threading.Thread]:
    return [it for it in threading.enumerate() if it.name == "gcom spare worker"]


class FakeServer:
    """One connection with requests that are served when told, and callbacks that do some work."""

    sock = None
    gcom_requests = SimpleNamespace(has_next=False)
    listeners_due = (1,)

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self.served_by: list[threading.Thread] = []
        self.requests = threading.Semaphore(0)
        self.ended = False
        self.woken = 0
        self.work: Callable[[], object] = lambda: None
        self.after_request: Callable[[], object] = lambda: None
        self.spare_workers = SpareWorkers(self._serve, self, patience_s)

    def _serve(self, _: object) -> None:
        assert self.requests.acquire(timeout=LIMIT_S)
        if self.ended:
            raise EOFError("it ended")
        self.served_by.append(threading.current_thread())
        self.after_request()

    def call_back(self) -> None:
        self.work()

    def wake(self) -> None:
        self.woken += 1

    def answered(self) -> None:
        """Do what a worker does after an answer, and a spare one."""
        self.spare_workers.call_back(self)  # type: ignore[arg-type]

    def ask(self) -> None:
        """Send a request, and wait until it is served."""
        count = len(self.served_by)
        self.requests.release()
        until(lambda: len(self.served_by) > count, "a request")

    def ask_when_back(self) -> None:
        """Send one more when the worker's callback is over: the spare worker waits for it."""

        def wait() -> None:
            until(lambda: not self.spare_workers._running, "the end of the callback")
            self.requests.release()

        threading.Thread(target=wait, daemon=True).start()

    def be_slow(self) -> None:
        """Take, as a callback, until a spare worker has served a request."""
        self.ask()
        self.ask_when_back()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    it = FakeServer()
    yield it
    it.spare_workers.close()


def test_a_quick_callback_needs_no_spare_worker() -> None:
    server = FakeServer(LIMIT_S)
    done: list[int] = []
    server.work = lambda: done.append(1)
    for _ in range(100):
        server.answered()
    assert (len(done), server.woken, server.served_by) == (100, 0, [])
    server.spare_workers.close()


def test_a_worker_that_has_more_to_serve_calls_back_nobody(server: FakeServer) -> None:
    server.work = lambda: pytest.fail("it was to serve on")
    server.gcom_requests = SimpleNamespace(has_next=True)
    server.answered()
    assert server.woken == 1


def test_a_spare_worker_serves_until_the_worker_is_back(server: FakeServer) -> None:
    def work() -> None:
        for _ in range(3):
            server.ask()
        server.ask_when_back()

    server.work = work
    server.after_request = server.answered
    server.answered()
    assert len(server.served_by) == 4
    assert len(set(server.served_by)) == 1
    assert server.woken == 4
    assert not server.served_by[0].is_alive()


def test_a_spare_worker_never_calls_back(server: FakeServer) -> None:
    """Else each slow callback in a row would have a thread more."""
    callers: list[threading.Thread] = []

    def work() -> None:
        callers.append(threading.current_thread())
        server.ask()  # the next message comes while this one is in its callback
        server.ask_when_back()

    server.work = work
    server.after_request = server.answered
    for _ in range(3):
        server.answered()
    assert set(callers) == {threading.current_thread()}
    assert server.woken == 6


def test_after_a_quiet_time_a_slow_callback_has_a_spare_worker_again(server: FakeServer) -> None:
    server.answered()
    until(lambda: not server.spare_workers._watching, "the sleep of the watch")

    server.work = server.be_slow
    server.answered()
    assert len(server.served_by) == 2


def test_without_a_thread_for_the_watch_the_next_callback_tries_again(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    done: list[int] = []
    server.work = lambda: done.append(1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        server.answered()
    assert done == [1]

    server.work = server.be_slow
    server.answered()
    assert len(server.served_by) == 2


def test_the_worker_is_told_that_its_connection_ended_meanwhile(server: FakeServer) -> None:
    def work() -> None:
        server.ask()
        server.ended = True
        server.ask_when_back()

    server.work = work
    with pytest.raises(EOFError, match="it ended"):
        server.answered()


def test_what_a_callback_raises_goes_to_the_worker(server: FakeServer) -> None:
    server.work = lambda: 1 // 0
    with pytest.raises(ZeroDivisionError):
        server.answered()
    done: list[int] = []
    server.work = lambda: done.append(1)
    server.answered()
    assert (done, server.woken) == ([1], 0)
