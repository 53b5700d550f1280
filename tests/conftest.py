"""Common ground of all tests: a record of WARNING or above that nobody announced fails the test it appears in.

A warning is a promise to the operator that something deserves a look; one that appears in a test that did not mean to
provoke it is either a fault or a false alarm, and both want mending. A test that does mean it says so beforehand:

    def test_a_frame_that_is_not_ours_is_refused(expect_log: Callable[[str], None]) -> None:
        expect_log("refused a frame")

Then records that hold that text pass, and there must be at least one.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

import hypothesis
import loguru
import pytest
from loguru import logger

from tests import sharing
from tests.sim import corpus

# A deadline in wall time would make a property's verdict depend on what else the machine does.
# Fifty examples find what a hundred do nearly every time, in half of what the core's tests cost; soak takes 2,000.
hypothesis.settings.register_profile("gcom", deadline=None, print_blob=True, max_examples=50)
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("gcom"), max_examples=15)  # make check
hypothesis.settings.register_profile("soak", hypothesis.settings.get_profile("gcom"), max_examples=2000)  # make soak
hypothesis.settings.load_profile("gcom")

_tests = itertools.count(1)
LATE_S = 60.0  # how long a test that is over waits for a record that it announced


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", type=int, metavar="N", help="of a test with more cases run N: the first, the last, ...")
    parser.addoption(
        "--fresh", type=int, metavar="SEED", help="where the fresh seeds of `make soak` begin; drawn if not given"
    )
    parser.addoption("--store", default="sqlite,postgres,served", help="the databases on which topics are tested")
    parser.addoption("--fresh-count", type=int, metavar="N", default=100, help="how many fresh seeds each sweep takes")


def pytest_configure(config: pytest.Config) -> None:
    """Draw where fresh seeds begin before there are workers, so that all of them have the same; let SIGINT interrupt.

    A shell starts what runs in the background with SIGINT ignored, and the programs that tests interrupt inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.fresh is None:
        drawn = random.SystemRandom().randrange(10**4, 10**8)
        config.option.fresh = getattr(config, "workerinput", {}).get("fresh", drawn)


def pytest_report_header(config: pytest.Config) -> str:
    return f"fresh seeds: {config.option.fresh} and on (the same again: --fresh {config.option.fresh})"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker where fresh seeds begin: it parses the command line anew, and would draw its own."""
    node.workerinput["fresh"] = node.config.option.fresh


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute tests over the workers as tests/sharing.py says."""
    return sharing.scheduler(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(scope="session")
def fresh(request: pytest.FixtureRequest) -> int:
    """The first of the fresh seeds."""
    seed: int = request.config.option.fresh
    return seed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `fresh_seed` each of them."""
    if "fresh_seed" in metafunc.fixturenames:
        first = metafunc.config.option.fresh
        metafunc.parametrize("fresh_seed", range(first, first + metafunc.config.option.fresh_count))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector off what stays to the end: thousands of tests, and every module."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests in the workers' order; for `make check` take of a long table of cases those that lie spread in it."""
    if getattr(config.option, "loadgroup", False):
        items.sort(key=sharing.place)
    most = config.getoption("--cases")
    if most is None:
        return
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {case for cases in tables.values() for case in _spread(cases, most)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _spread(cases: list[pytest.Item], most: int) -> list[pytest.Item]:
    if len(cases) <= most:
        return cases
    return [cases[index * (len(cases) - 1) // max(1, most - 1)] for index in range(most)]


@pytest.fixture(scope="session", autouse=True)
def _corpus(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the runs of the session's seeds where all its workers find them."""
    base = tmp_path_factory.getbasetemp()
    corpus.keep_in((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "corpus")


class LogWatch:
    """Keeps the records of WARNING and above of one test; records may come from any thread, and a little late."""

    def __init__(self) -> None:
        self._more = threading.Condition()
        self.records: list[str] = []
        self.expected: list[str] = []
        self.tolerated: list[str] = []

    def take(self, record: str) -> None:
        with self._more:
            self.records.append(record)
            self._more.notify_all()

    def close(self) -> list[str]:
        """Return what is wrong: records nobody announced, announcements nothing answered."""
        with self._more:  # a thread may still be between what it did and its words about it
            self._more.wait_for(lambda: not self._unanswered(), LATE_S)
        known = (*self.expected, *self.tolerated)
        unexpected = [record for record in self.records if not any(text in record for text in known)]
        unanswered = self._unanswered()
        return [f"unexpected log: {record}" for record in unexpected] + [f"no log holds: {text}" for text in unanswered]

    def _unanswered(self) -> list[str]:
        return [text for text in self.expected if not any(text in record for record in self.records)]


class LogSink:
    """Hands records to the watch of the test that runs. One for all tests: loguru takes 2 ms to add a handler."""

    def __init__(self) -> None:
        self.watch: LogWatch | None = None
        self._remove = logger.remove
        self._add()

    def _add(self) -> None:
        logger.add(self._take, level="WARNING", format="{level} {name}: {message}", catch=False)

    def _take(self, message: loguru.Message) -> None:
        if watch := self.watch:
            watch.take(str(message).strip())

    def remove(self, handler: int | None = None) -> None:
        """Stand in for `logger.remove`: a command that sets up its own logging must not blind the watch."""
        self._remove(handler)
        if handler is None:
            self._add()


@pytest.fixture(scope="session")
def _log_sink() -> LogSink:
    return LogSink()


@pytest.fixture(autouse=True)
def log_watch(_log_sink: LogSink, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogWatch]:
    """Watch the log for the time of a test, its other fixtures' set-up and tear-down included."""
    watch = _log_sink.watch = LogWatch()
    logger.enable("gcom")
    monkeypatch.setattr(logger, "remove", _log_sink.remove)
    yield watch
    monkeypatch.undo()
    wrong = watch.close()
    _log_sink.watch = None
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


@pytest.fixture
def expect_log(log_watch: LogWatch) -> Callable[[str], None]:
    """Announce the text of a record of WARNING or above that this test provokes on purpose."""
    return log_watch.expected.append


@pytest.fixture
def tolerate_log(log_watch: LogWatch) -> Callable[[str], None]:
    """Announce the text of a record that may come, or not, as the machine's threads have it."""
    return log_watch.tolerated.append


@pytest.fixture(scope="session", autouse=True)
def _state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's secret: of the session's processes in one folder, and never the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
        yield


@pytest.fixture(autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep registries from the user's folders: each test has a data folder of its own, and no settings."""
    number = next(_tests)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / f"data-{number}"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / f"config-{number}"))
