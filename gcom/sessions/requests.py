"""Requests of remote sessions, and their answers, as bytes."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Literal

import msgpack

from gcom.errors import BadValue, GComError, LocalError, MalformedFrame, NotPermitted, PeerError, Unavailable, error_of
from gcom.replicated import MachineFailed, OutcomeUnknown, Refused
from gcom.sessions.access import SessionAnswer
from gcom.sessions.errors import BadToken, SessionForked, SessionTimeout, SessionUnknown, WriteMissing

VERSION = 1
AskedFor = Literal["begin", "read", "write", "end"]
# By name, the narrow ones first: an error travels as the first of these that it is.
_TRAVEL: tuple[type[GComError], ...] = (
    *(BadToken, SessionForked, SessionTimeout, SessionUnknown, WriteMissing),
    *(OutcomeUnknown, Refused, MachineFailed, NotPermitted, BadValue, LocalError, Unavailable),
)
_BACK = {it.__name__: it for it in _TRAVEL}


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A call of a remote session. `token` is a secret alone where a session is begun."""

    ask: AskedFor
    machine: str  # the name of its class: another one is refused
    token: str
    timeout_s: float  # the replica waits no longer
    name: str = ""
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the request's bytes."""
        data: bytes = msgpack.packb([VERSION, *astuple(self)])
        return data

    @classmethod
    def decode(cls, data: bytes) -> SessionRequest:
        """Return the request of bytes; raises MalformedFrame."""
        try:
            match msgpack.unpackb(data):
                case [
                    1,
                    ("begin" | "read" | "write" | "end") as ask,
                    str() as machine,
                    str() as token,
                    int() | float() as timeout_s,
                    str() as name,
                    bytes() as body,
                ] if 0 <= timeout_s < float("inf"):
                    return cls(ask, machine, token, float(timeout_s), name, body)
        except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
            raise MalformedFrame(f"no request of a session: {error}") from error
        raise MalformedFrame("no request of a session that this replica knows: is its GCom of another version?")


def encode_answer(found: SessionAnswer) -> bytes:
    """Return an answer as bytes."""
    data: bytes = msgpack.packb(list(found))
    return data


def encode_error(error: GComError) -> bytes:
    """Return an error as bytes."""
    code = next((it.__name__ for it in _TRAVEL if isinstance(error, it)), "PeerError")
    data: bytes = msgpack.packb([code, str(error)])
    return data


def answer_of(data: bytes) -> SessionAnswer:
    """Return the answer in bytes, or raise the error in them; raises PeerError for others."""
    try:
        found = msgpack.unpackb(data)
    except (ValueError, TypeError, msgpack.exceptions.UnpackException) as error:
        raise PeerError(f"no answer of a replica: {error}") from error
    match found:
        case [bytes() as answer, int() as version, str() as at]:
            return SessionAnswer(answer, version, at)
        case [str() as code, str() as text]:
            raise _BACK[code](text) if code in _BACK else error_of(code, text)
    raise PeerError("no answer of a replica: is its GCom of another version?")
