"""Tokens: a session's place in the history of a store, as a short text that another process can go on with."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

import msgpack

from gcom.errors import BadValue
from gcom.sessions.errors import BadToken

GUARANTEES = ("RYW", "MR", "MW", "WFR")
PREFIX = "gs1."
TOKEN_MAX = 1_000  # characters
INDEX_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SessionToken:
    """A session, and what it has written and read."""

    store: str  # the state's own identity: a state that began anew has another
    session: int  # the index of the command that opened it
    secret: str  # so that nobody guesses the session of another
    guarantees: tuple[str, ...]
    written: int = 0  # writes
    write_index: int = 0  # of the last write
    read_index: int = 0  # of the newest state that was read
    at: str = ""  # the replica that had it last

    def encode(self) -> str:
        """Return the token's text."""
        data = msgpack.packb([getattr(self, name) for name in self.__slots__])
        return PREFIX + urlsafe_b64encode(crc32(data).to_bytes(4, "big") + data).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> SessionToken:
        """Return the token of a text; raises BadToken."""
        if not isinstance(text, str) or not text.startswith(PREFIX) or len(text) > TOKEN_MAX:
            raise BadToken(f"a session's token begins with {PREFIX}; got {text!r:.60}")
        try:
            data = urlsafe_b64decode(text[len(PREFIX) :] + "==")
            if crc32(data[4:]).to_bytes(4, "big") != data[:4]:
                raise ValueError("its checksum is another")
            match msgpack.unpackb(data[4:], use_list=False):
                case (str(), int(), str(), tuple(named), int(), int(), int(), str()) as fields:
                    numbers = [it for it in fields if isinstance(it, int)]
                    if not all(0 <= it <= INDEX_MAX for it in numbers) or not set(named) <= set(GUARANTEES):
                        raise ValueError("a value of it cannot be")
                    found = cls(*fields)
                    if found.encode() != text:
                        raise ValueError("it is written otherwise")
                    return found
                case _:
                    raise ValueError("it has other fields")
        except (NotBase64, ValueError, msgpack.exceptions.UnpackException, TypeError) as error:
            raise BadToken(f"the token is damaged or was edited ({error}); open a new session") from error


def guarantees_of(named: Iterable[str]) -> tuple[str, ...]:
    """Return guarantees in their usual order; raises BadValue for other names."""
    asked = [named] if isinstance(named, str) or not isinstance(named, Iterable) else [*named]
    if unknown := [it for it in asked if it not in GUARANTEES]:
        raise BadValue(f"a guarantee must be one of {', '.join(GUARANTEES)}; got {unknown[0]!r:.60}")
    return tuple(it for it in GUARANTEES if it in asked)
