"""Stores for tests, on each database that `--store` names: a file, and a private PostgreSQL server."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest

from gcom import topics
from gcom.topics import TopicStore
from gcom.topics.served.serving import TopicsServer
from tests.running import LIMIT_S

KINDS = ("sqlite", "postgres", "served")
_schemas = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have tests with a store run once on each kind of database."""
    if "store_kind" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--store").split(",")
        metafunc.parametrize("store_kind", [kind for kind in KINDS if kind in wanted], scope="session")


class Server:
    """A PostgreSQL server of these tests alone: in a folder, on a socket, run by a user that is not root."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs
        self._user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        if os.geteuid() == 0:
            shutil.chown(folder, self._user)
        self._watcher = self._watched()
        self._run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "gcom", "--no-instructions", "-N")

    def _watched(self) -> subprocess.Popen[bytes]:
        """Start a process that ends the server, and takes its folder away, once this process is no more."""
        stop = f"{self._programs / 'pg_ctl'} -D {self.folder}/data -m immediate stop"
        return subprocess.Popen(
            ["sh", "-c", f"cat; {stop}; rm -rf {self.folder}"],
            user=self._user if os.geteuid() == 0 else None,
            cwd="/",
            stdin=subprocess.PIPE,  # closed by the kernel where this process is killed
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the tests
        )

    def close(self) -> None:
        """End the server, and take its folder away."""
        self._watcher.communicate()

    def _run(self, program: str, *words: str) -> None:
        user = self._user if os.geteuid() == 0 else None
        command = [str(self._programs / program), *words]
        done = subprocess.run(command, user=user, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c max_connections=200"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", mode, "stop")

    def new_place(self) -> str:
        """Return the address of an empty schema."""
        import psycopg

        schema = f"s{next(_schemas)}"
        with psycopg.connect(f"postgresql://gcom@/postgres?host={self.folder}", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return f"postgresql://gcom@/postgres?host={self.folder}&options={quote(f'-csearch_path={schema}')}"


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None if it is not installed."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb")] or [Path(it) for it in [shutil.which("initdb")] if it]
    return max(found).resolve().parent if found else None


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running server; without one the tests that need it say so."""
    there = programs()
    if there is None or find_spec("psycopg") is None:
        pytest.skip("PostgreSQL or psycopg is not installed: topics on PostgreSQL are not tested")
    folder = Path("/tmp") / f"gcom-{os.getpid()}"  # the path of a socket has 107 characters at most
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    running = Server(folder, there)
    running.start()
    yield running
    running.close()


@pytest.fixture
def new_place(store_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Makes the places of new stores."""
    if store_kind == "postgres":
        made: Server = request.getfixturevalue("server")
        yield made.new_place
        return
    numbers, servers = itertools.count(1), ExitStack()

    def make() -> str:
        place = str(tmp_path / f"app{next(numbers)}.db")
        if store_kind != "served":
            return place
        return f"gcom://{servers.enter_context(TopicsServer(place)).address}"

    with servers:
        yield make


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """The place of a new store."""
    return new_place()


@pytest.fixture
def store(place: str) -> Iterator[TopicStore]:
    with topics.open(place) as opened:
        yield opened


@pytest.fixture
def file_place(tmp_path: Path) -> str:
    """The place of a store that is a file."""
    return str(tmp_path / "app.db")
