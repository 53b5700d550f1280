"""Sessions from seeds: nothing is wrong as they are, and each check that is taken away is missed."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from gcom.errors import GComError
from gcom.sessions.access import LocalReplica
from gcom.sessions.errors import BadToken
from gcom.sessions.table import SessionRecord, SessionRecords
from gcom.sessions.tokens import PREFIX, SessionToken
from tests.sessions.simulated import RECORDS, SimulatedWorld

SEEDS = range(1, 101)
STEPS = 120
Patch = Callable[[pytest.MonkeyPatch], None]


def wrong_in(seed: int, dirty: bool = False) -> list[str]:
    world = SimulatedWorld(seed)
    world.dirty = dirty
    return world.run(STEPS)


def test_nothing_is_wrong_in_any_seed() -> None:
    assert {seed: found for seed in SEEDS if (found := wrong_in(seed))} == {}


def test_chance_reaches_what_it_should() -> None:
    worlds = [SimulatedWorld(seed) for seed in range(1, 21)]
    for world in worlds:
        world.run(STEPS)
    assert sum(len(world.certain) for world in worlds) > 100
    assert sum(len(world.impossible) for world in worlds) > 5


def reading_without(guarantee: str) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        real = LocalReplica.read

        def read(self: LocalReplica, token: SessionToken, name: str, body: bytes, timeout_s: float) -> Any:
            rest = tuple(it for it in token.guarantees if it != guarantee)
            return real(self, replace(token, guarantees=rest), name, body, timeout_s)

        monkeypatch.setattr(LocalReplica, "read", read)

    return patch


def writing(decide: Callable[[SessionRecord, int, int], str]) -> Patch:
    """Have writes decided otherwise: "again" answers as before, "do" carries out."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def write(
            self: SessionRecords, session: int, secret: str, number: int, _: bool, name: str, body: bytes
        ) -> tuple[bytes, int]:
            record = self._record(session, secret)
            crc = hash((name, body))
            if decide(record, number, crc) == "again":
                return record.answer, record.index
            record.answer = self._perform(name, body)
            record.written, record.index, record.crc = max(number, record.written), self.context.index, crc
            self._last = record.index
            return record.answer, record.index

        monkeypatch.setitem(RECORDS.commands, "write", write)

    return patch


def unchecked_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(text: str) -> SessionToken:
        try:
            return SessionToken(*msgpack.unpackb(urlsafe_b64decode(text[len(PREFIX) :] + "==")[4:], use_list=False))
        except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
            raise BadToken("damaged") from error

    monkeypatch.setattr(SessionToken, "decode", decode)


def any_store(monkeypatch: pytest.MonkeyPatch) -> None:
    real = RECORDS.queries["read"]

    def read(self: SessionRecords, _: str, *rest: Any) -> Any:
        return real(self, self._identity, *rest)

    monkeypatch.setitem(RECORDS.queries, "read", read)


def any_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SessionRecords._record

    def record(self: SessionRecords, session: int, secret: str) -> SessionRecord:
        found = self._records.get(session)
        return real(self, session, found.secret if found else secret)

    monkeypatch.setattr(SessionRecords, "_record", record)


def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionRecords, "_forget", lambda self, session: None)


MUTANTS: dict[str, tuple[Patch, str]] = {
    "reads without RYW": (reading_without("RYW"), "RYW"),
    "reads without MR": (reading_without("MR"), "MR"),
    "a late write is taken after its successors": (
        writing(lambda record, number, crc: "again" if (number, crc) == (record.written, record.crc) else "do"),
        "MW",
    ),
    "a retry is a new write": (writing(lambda record, number, crc: "do"), "a note is there twice"),
    "a copied token is not noticed": (
        writing(lambda record, number, crc: "again" if number <= record.written else "do"),
        "was confirmed, and is not there",
    ),
    "a token's text is not checked": (unchecked_text, "an edited token"),
    "a token of any store is taken": (any_store, "a token of another store"),
    "a guessed session is taken": (any_secret, "a guessed session"),
    "a closed session is taken": (endless, "a closed session"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_check_is_missed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    patch, expected = MUTANTS[name]
    patch(monkeypatch)
    assert any(_has(seed, expected) for seed in SEEDS), f"no seed finds: {name}"


def test_reads_of_what_is_not_in_the_order_break_wfr() -> None:
    assert any("WFR" in it for seed in SEEDS for it in wrong_in(seed, dirty=True))


def _has(seed: int, expected: str) -> bool:
    try:
        return any(expected in it for it in wrong_in(seed))
    except GComError:
        return False
