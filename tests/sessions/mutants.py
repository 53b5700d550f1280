"""Sessions of which each guarantee, and each check of a token, is taken away in turn."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from gcom.sessions.access import LocalReplica
from gcom.sessions.errors import BadToken
from gcom.sessions.table import SessionRecord, SessionRecords
from gcom.sessions.tokens import PREFIX, SessionToken
from tests.sessions.simulated import RECORDS, SimulatedWorld

Patch = Callable[[pytest.MonkeyPatch], None]


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
        ) -> tuple[bytes, int, bool]:
            record = self._record(session, secret)
            crc = hash((name, body))
            if decide(record, number, crc) == "again":
                return record.answer, record.index, True
            record.answer = self._perform(name, body)
            record.written, record.index, record.crc = max(number, record.written), self.context.index, crc
            self._last = record.index
            return record.answer, record.index, False

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


def dirty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedWorld, "dirty", True)


# By name: the patch, the world's words, and the rule by which the audit finds it in the logs. Without a rule a check
# guards no guarantee, but the session itself.
MUTANTS: dict[str, tuple[Patch, str, str]] = {
    "reads without RYW": (reading_without("RYW"), "RYW", "RYW"),
    "reads without MR": (reading_without("MR"), "MR", "MR"),
    "reads of what is not in the order": (dirty, "WFR", "WFR"),
    "a late write is taken after its successors": (
        writing(lambda record, number, crc: "again" if (number, crc) == (record.written, record.crc) else "do"),
        "MW",
        "MW",
    ),
    "a retry is a new write": (writing(lambda record, number, crc: "do"), "a note is there twice", "MW"),
    "a copied token is not noticed": (
        writing(lambda record, number, crc: "again" if number <= record.written else "do"),
        "was confirmed, and is not there",
        "MW",
    ),
    "a token's text is not checked": (unchecked_text, "an edited token", "RYW"),
    "a token of any store is taken": (any_store, "a token of another store", ""),
    "a guessed session is taken": (any_secret, "a guessed session", ""),
    "a closed session is taken": (endless, "a closed session", ""),
}
