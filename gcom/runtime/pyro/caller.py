"""The calling side: one call to a peer, whose answer is bytes or one of four exceptions."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from Pyro5 import protocol

from gcom.errors import PeerError, Unavailable, Untrusted
from gcom.runtime.pyro import tls
from gcom.runtime.pyro.credentials import Dialer
from gcom.runtime.pyro.dialing import dial
from gcom.runtime.pyro.parting import put
from gcom.runtime.pyro.secret import Exchange, UserSecret, new_nonce
from gcom.runtime.pyro.wire import (
    MSGPACK,
    NOT_TRUSTED,
    POOL_FULL,
    RefusedMessage,
    WireMessage,
    pack,
    plain,
    read,
    remaining,
    shut,
)
from gcom.runtime.user_process.process_events import keep
from gcom.values import names
from gcom.values.names import Address

CONNECT_S = 3.0  # a dial takes this long at most, whatever the call's own timeout


class ConnectionRefused(Unavailable):
    """A refused connection: nobody listens at the address."""


class ConnectionLost(Unavailable):
    """A broken connection; whether the peer carried out the call is unknown."""


class HostUnknown(ConnectionLost):
    """A host whose name is not found: nobody was dialled."""


class TimedOut(Unavailable):
    """A lack of an answer in time; whether the peer carried out the call is unknown."""


class Caller:
    """A persistent connection to one object, used by one thread at a time; dialled when needed.

    A server ends connections that are idle (gcom/runtime/pyro/connections.py). That is seen before the next request is
    written, which then goes over a new one: it fails nothing, and no request is written twice. Pyro5's own
    Proxy is not used: it would let the peer choose how its answer is deserialised.
    """

    def __init__(
        self,
        address: Address,
        object_id: str,
        credentials: Dialer | UserSecret | None = None,
        member: str | None = None,
        method: str = "receive",
    ) -> None:
        """With a user's secret, call processes of that user alone.

        With credentials, by TLS, and that member alone; a registry alone where `member` is None.
        """
        self.address = address.partition("@")[0]  # without the life that is expected there
        self._object_id = object_id
        self._secret = credentials if isinstance(credentials, UserSecret) else None
        self._certificates = None if isinstance(credentials, UserSecret) else credentials
        self._member = member
        self._method = method
        self._sock: tls.PeerSocket | None = None
        self._seq = 0
        self._closed = False

    @property
    def connected(self) -> bool:
        """Tell whether the next call finds a connection that once worked."""
        return self._sock is not None

    def call(self, data: bytes, timeout_s: float) -> bytes:
        """Return the peer's answer to `data`. After any failure the connection is dropped; the next call dials anew.

        Raises ConnectionRefused, ConnectionLost or TimedOut; PeerError for any answer that is not bytes, and Untrusted.
        """
        # A flag, and no `except` for all: Ctrl-C must drop the
        # connection, too, or the next call would read this one's answer.
        done = False
        try:
            with self._raised_as_ours(timeout_s):
                answer = self._exchange(data, monotonic() + timeout_s)
            done = True
        finally:
            if not done:
                self._drop()
        return answer

    def is_revoked(self, sock: tls.PeerSocket) -> bool:
        """Tell whether the peer of a connection was revoked since it was made."""
        return tls.is_revoked(sock, self._certificates)

    def connect(self, timeout_s: float) -> tls.PeerSocket:
        """Return a new connection, which is the caller's no more: for a `Pipeline`. Raises as `call` does."""
        # An answer may still be under way on the old one: the pipeline would take it for one of its own calls'.
        self._drop()
        done = False
        try:
            with self._raised_as_ours(timeout_s):
                sock = self._dial(monotonic() + timeout_s)
            done = True
        finally:
            if not done:
                self._drop()
        self._sock = None
        return sock

    @contextmanager
    def _raised_as_ours(self, timeout_s: float) -> Iterator[None]:
        """Raise the exceptions that `call` promises, in place of those of sockets."""
        # The narrow ones first, since nearly all of these are OSErrors: a refusal is evidence of
        # a crash, a broken connection is none, and a name that is not found was never dialled.
        try:
            yield
        except ConnectionRefusedError as error:
            raise ConnectionRefused(f"nobody listens at {self.address}") from error
        except Untrusted as error:
            raise Untrusted(f"{self.address}: {error}") from error
        except TimeoutError as error:
            raise TimedOut(f"{self.address} did not answer within {timeout_s:.3g} s") from error
        except socket.gaierror as error:
            host = names.split_address(self.address)[0]
            raise HostUnknown(f"no machine is known here as {host!r} ({error.strerror})") from error
        except (EOFError, OSError) as error:
            raise ConnectionLost(f"the connection to {self.address} broke: {error}") from error
        except RefusedMessage as refused:
            raise PeerError(f"{self.address} gave no answer of ours: {refused}") from refused

    def close(self) -> None:
        """Drop the connection for good. Another thread may call this, to end a call in progress."""
        self._closed = True
        sock = self._sock
        if sock is not None:
            shut(sock)
            sock.close()

    def _exchange(self, data: bytes, deadline: float) -> bytes:
        sock = self._reusable() or self._dial(deadline)
        # Pyro5's wire has 16 bits for it. It only tells an answer of
        # this call from one of an earlier call that was given up.
        self._seq = (self._seq + 1) & 0xFFFF
        sock.settimeout(remaining(deadline))
        body = pack((self._object_id, self._method, (data,), {}))
        reply = put(sock, protocol.MSG_INVOKE, self._seq, body, deadline) or read(sock, deadline)
        return answer_of(reply, self._seq)

    def _reusable(self) -> tls.PeerSocket | None:
        """Return the connection of the last call, unless the peer has ended it since."""
        if self._sock is not None and (
            _is_over(self._sock) or (self._certificates and tls.is_revoked(self._sock, self._certificates))
        ):
            self._drop()
        return self._sock

    def _dial(self, deadline: float) -> tls.PeerSocket:
        deadline = min(deadline, monotonic() + CONNECT_S)
        if self._closed:
            raise EOFError("closed by this side")
        raw = dial(*names.split_address(self.address), deadline)
        self._sock = raw  # from here on close() reaches it
        # Looked at again. 1. This thread dials, which may take seconds. 2. `close`
        # finds no socket to end. 3. The call would go on, and nobody could stop it.
        if self._closed:
            raise EOFError("closed by this side")
        if raw.getsockname() == raw.getpeername():
            # Dialling a free port of our own range may connect a socket to itself.
            raise ConnectionRefusedError("connected to itself")
        # Frames are gathered by the core; with the kernel's own
        # delay an idle group's message would wait 40 ms for an ack.
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock = tls.dialled(raw, self._certificates, deadline, self._member)
        if self._secret is None:
            self._introduce(sock, {"handshake": "hello", "object": self._object_id}, deadline)
        else:
            self._prove(sock, self._secret, deadline)
        return keep(sock)

    def _introduce(self, sock: tls.PeerSocket, words: dict[str, object], deadline: float) -> WireMessage:
        """Say CONNECT; return the peer's welcome."""
        sock.settimeout(remaining(deadline))
        reply = put(sock, protocol.MSG_CONNECT, 0, pack(words), deadline) or read(sock, deadline)
        if reply.kind != protocol.MSG_CONNECTOK:
            raise _refusal(_reply(reply))
        return reply

    def _prove(self, sock: tls.PeerSocket, secret: UserSecret, deadline: float) -> None:
        """Introduce this side; raises Untrusted where the other does not know the user's secret."""
        # The server proves itself first. 1. A port of this user is freed. 2. Another user listens there. 3. It is shown
        # a nonce, and cannot answer it: the proof of this side never leaves.
        nonce = new_nonce()
        exchange = Exchange(sock.getsockname(), sock.getpeername(), self._object_id, nonce)
        reply = self._introduce(sock, {"handshake": {"nonce": nonce}, "object": self._object_id}, deadline)
        if not exchange.verify_server(secret, _reply(reply)):
            raise Untrusted("it does not know this user's secret, so another user listens there, or an older GCom")
        self._introduce(sock, dict(exchange.own_proof(secret)), deadline)

    def _drop(self) -> None:
        sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()


def _is_over(sock: tls.PeerSocket) -> bool:
    """Tell whether an idle connection is of no use: nobody speaks unasked, so whatever is there to read ends it."""
    try:
        sock.settimeout(0)
        sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def answer_of(reply: WireMessage, seq: int) -> bytes:
    """Return the answer to call `seq`; raises RefusedMessage for any other, and for a refusal as `_refusal` says."""
    if reply.kind == protocol.MSG_CONNECTFAIL:
        raise _refusal(_reply(reply))
    if (reply.kind, reply.seq) != (protocol.MSG_RESULT, seq):
        raise RefusedMessage("out of step")
    answer = _reply(reply)
    if reply.flags & protocol.FLAGS_EXCEPTION or type(answer) is not bytes:
        raise RefusedMessage("exception", _words(answer))
    return answer


def _reply(reply: WireMessage) -> Any:
    if reply.serializer != MSGPACK:
        raise RefusedMessage("serializer", "its answer is not msgpack")
    return plain(reply.body)


def _refusal(answer: Any) -> Exception:
    """Return the exception for a refused introduction."""
    words = _words(answer)
    # As a broken connection, which is dialled again in a while: nothing is wrong with what answers there.
    if answer == POOL_FULL:
        return EOFError(POOL_FULL)
    if words.startswith(NOT_TRUSTED):
        return Untrusted(words.removeprefix(NOT_TRUSTED))
    return RefusedMessage("rejected", words)


def _words(answer: Any) -> str:
    """Return a peer's text, or its exception as text, fit to be shown; nothing is rebuilt."""
    match answer:
        case {"__class__": str() as name, "args": [text, *_]}:
            answer = f"{name.rpartition('.')[2]}: {text}"
    # A peer's text may have codes for a terminal, which would change what a user sees: then its repr is shown.
    shown = str(answer)[:300]
    return shown if shown.isprintable() else repr(shown)
