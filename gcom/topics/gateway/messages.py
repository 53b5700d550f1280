"""The messages of protocol Z as bytes. Pure: what arrives is taken apart, or refused in a sentence.

    NAME SENDER FIELD... CR LF CR LF BODY

Fields are separated by one space. The source is "Enforcing Exactly-Once Semantics in a Load-Balanced Pub/Sub Service
With Multiple Proxies" (Pires, Colino, Costa, Correia, 2022), §3.1. It leaves open what ends the list of subscribers of
a TRANSFER: here, as in its authors' program, each line ends with CR LF, and each message begins with "*".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

from gcom.errors import MalformedFrame
from gcom.topics.values import SEQUENCE_MAX
from gcom.values import limits

END, LINE = b"\r\n\r\n", b"\r\n"
NOTHING_RECEIVED = "-1"  # a GET's last id, before the first one; no message has this id
HEADER_BYTES_MAX = 4 * 1024
NAMES_BYTES_MAX = 1024 * 1024  # of a PERIODIC
TRANSFER_BYTES_MAX = 48 * 1024 * 1024
TRANSFER_ITEMS_MAX = 100_000  # subscribers, what they wait for, and messages
_FIELD = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}")
_COUNTER = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ZSubscribe:
    """SUBSCRIBE: the sender is to get what is put into a topic from now on."""

    sender: str
    topic: str


@dataclass(frozen=True, slots=True)
class ZUnsubscribe:
    """UNSUBSCRIBE: the sender is to get nothing more."""

    sender: str
    topic: str


@dataclass(frozen=True, slots=True)
class ZGet:
    """GET: the next message for the sender, whose last one was `last`."""

    sender: str
    topic: str
    last: str = NOTHING_RECEIVED


@dataclass(frozen=True, slots=True)
class ZPut:
    """PUT: a message for a topic. The counter is the same only where the sender tries again."""

    sender: str
    topic: str
    counter: int
    body: bytes


@dataclass(frozen=True, slots=True)
class ZPeriodic:
    """PERIODIC: the topics of a server."""

    sender: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ZMerge:
    """MERGE: a server is to transfer a topic to another one."""

    sender: str
    topic: str
    address: str


@dataclass(frozen=True, slots=True)
class ZTransfer:
    """TRANSFER: a topic's subscribers, each with the ids that it has yet to receive, and its messages by id."""

    sender: str
    topic: str
    pending: tuple[tuple[str, tuple[str, ...]], ...] = ()
    messages: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class ZStatus:
    """STATUS: the answer to each of the others; with an id and a body where a message was received."""

    sender: str
    status: str
    id: str = ""
    body: bytes = b""


ZRequest = ZSubscribe | ZUnsubscribe | ZGet | ZPut | ZPeriodic | ZMerge | ZTransfer
_BODY_BYTES_MAX = {
    b"PUT": limits.MESSAGE_BYTES_MAX,
    b"PERIODIC": NAMES_BYTES_MAX,
    b"TRANSFER": TRANSFER_BYTES_MAX,
    b"STATUS": limits.MESSAGE_BYTES_MAX,
}


def bytes_max(start: bytes) -> int:
    """Return how many bytes the message that starts so may have."""
    return HEADER_BYTES_MAX + _BODY_BYTES_MAX.get(start.partition(b" ")[0], 0)


def encode(message: ZRequest | ZStatus) -> bytes:
    """Return the bytes of a message."""
    match message:
        case ZSubscribe():
            return _written("SUBSCRIBE", message.sender, message.topic)
        case ZUnsubscribe():
            return _written("UNSUBSCRIBE", message.sender, message.topic)
        case ZGet():
            return _written("GET", message.sender, message.topic, message.last)
        case ZPut():
            return _written("PUT", message.sender, message.topic, str(message.counter)) + message.body
        case ZPeriodic():
            return _written("PERIODIC", message.sender) + " ".join(message.topics).encode()
        case ZMerge():
            return _written("MERGE", message.sender, message.topic, message.address)
        case ZTransfer():
            return _written("TRANSFER", message.sender, message.topic) + _topic_data(message)
        case ZStatus():
            fields = [message.status, *([message.id] if message.id else [])]
            return _written("STATUS", message.sender, *fields) + message.body
    assert_never(message)


def _written(*fields: str) -> bytes:
    return " ".join(map(checked_field, fields)).encode() + END


def checked_field(text: str) -> str:
    """Return a name that may stand in a header; raise MalformedFrame."""
    if not _FIELD.fullmatch(text):
        raise MalformedFrame(f"{text!r:.40} is no name here: expected 1 to 200 characters without spaces")
    return text


def decode(data: bytes) -> ZRequest | ZStatus:
    """Return the message in bytes; raise MalformedFrame."""
    if len(data) > bytes_max(data):
        raise MalformedFrame(f"too long: expected at most {bytes_max(data)} bytes, got {len(data)}")
    header, end, body = data.partition(END)
    if not end or len(header) > HEADER_BYTES_MAX:
        raise MalformedFrame(f"no header: expected at most {HEADER_BYTES_MAX} bytes, and CR LF CR LF at its end")
    try:
        fields = header.decode().split(" ")
    except UnicodeDecodeError as error:
        raise MalformedFrame(f"no header: expected UTF-8 ({error})") from error
    return _message([checked_field(it) for it in fields], body)


def _message(fields: list[str], body: bytes) -> ZRequest | ZStatus:
    match fields:
        case ["PUT", sender, topic, counter]:
            return ZPut(sender, topic, _counter(counter), body)
        case ["PERIODIC", sender]:
            return ZPeriodic(sender, tuple(map(checked_field, _text(body).split())))
        case ["TRANSFER", sender, topic]:
            return _transfer(sender, topic, body)
        case ["STATUS", sender, status]:
            return ZStatus(sender, status, "", body)
        case ["STATUS", sender, status, id]:
            return ZStatus(sender, status, id, body)
    if body:
        raise MalformedFrame(
            f"{fields[0]!r:.40} with {len(fields) - 1} fields and a body is no message; names have no spaces"
        )
    return _message_without_body(fields)


def _message_without_body(fields: list[str]) -> ZRequest:
    match fields:
        case ["SUBSCRIBE", sender, topic]:
            return ZSubscribe(sender, topic)
        case ["UNSUBSCRIBE", sender, topic]:
            return ZUnsubscribe(sender, topic)
        case ["GET", sender, topic, last]:
            return ZGet(sender, topic, last)
        case ["MERGE", sender, topic, address]:
            return ZMerge(sender, topic, address)
    raise MalformedFrame(f"{fields[0]!r:.40} with {len(fields) - 1} fields is no message; names have no spaces")


def _counter(text: str) -> int:
    if not _COUNTER.fullmatch(text) or int(text) >= SEQUENCE_MAX:
        raise MalformedFrame(f"{text!r:.40} is no counter: expected a whole number from 0 to 2**62 - 1")
    return int(text)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedFrame(f"expected names in UTF-8 ({error})") from error


def _topic_data(transfer: ZTransfer) -> bytes:
    lines = [" ".join(map(_plain, (name, *ids))).encode() + LINE for name, ids in transfer.pending]
    kept = [b"*" + _plain(id).encode() + LINE + _escaped(body) + LINE for id, body in transfer.messages]
    return b"".join(lines + kept)


def _plain(text: str) -> str:
    if "*" in text:
        raise MalformedFrame(f"{text!r:.40} cannot be transferred: '*' separates messages")
    return checked_field(text)


def _escaped(body: bytes) -> bytes:
    return body.replace(b"/", b"//").replace(b"*", b"/s")


def _transfer(sender: str, topic: str, body: bytes) -> ZTransfer:
    lines, star, rest = body.partition(b"*")
    if body.count(b"*") + lines.count(b" ") + lines.count(LINE) > TRANSFER_ITEMS_MAX:
        raise MalformedFrame(f"a TRANSFER has at most {TRANSFER_ITEMS_MAX} subscribers, ids and messages")
    kept = rest.split(b"*") if star else []
    subscribers = [list(map(checked_field, line.split(" "))) for line in _text(lines).split("\r\n") if line]
    pending = {name: tuple(ids) for name, *ids in subscribers}
    messages = dict(map(_transferred, kept))
    if len(pending) < len(subscribers) or len(messages) < len(kept):
        raise MalformedFrame("a TRANSFER names each subscriber and each message once")
    return ZTransfer(sender, topic, tuple(pending.items()), tuple(messages.items()))


def _transferred(data: bytes) -> tuple[str, bytes]:
    id, line, content = data.partition(LINE)
    if not line or not content.endswith(LINE):
        raise MalformedFrame("a message in a TRANSFER has an id, CR LF, its content, and CR LF")
    content = content[: -len(LINE)]
    if re.search(rb"(?<!/)(?://)*/(?![/s])", content):
        raise MalformedFrame("'/' in a TRANSFER is followed by '/' or 's'")
    return checked_field(_text(id)), re.sub(rb"/([/s])", lambda it: b"/" if it[1] == b"/" else b"*", content)
