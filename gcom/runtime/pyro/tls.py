"""TLS around a connection: `dialled` and `accepted` make it, and `peer` is whose request is being served.

A `SecureSocket` has the methods of a socket that GCom uses. It keeps TLS apart from the socket (`ssl.MemoryBIO`): so
one thread may read while another writes, which OpenSSL's own objects do not allow, and a limit bounds a whole
operation, though the peer sends a byte now and then. An end without a goodbye is an end: messages carry their length.
"""

from __future__ import annotations

import errno
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from time import monotonic
from typing import Any

from gcom.errors import Untrusted
from gcom.runtime.pyro.credentials import Credentials, Dialer
from gcom.values import identity
from gcom.values.identity import Identity

_READ_BYTES = 128 * 1024  # half of the largest frame: two reads, where a small buffer would take many
_PLAIN_GCOM = b"P"  # of PYRO; a TLS handshake begins with 22
_PEER: ContextVar[Identity | None] = ContextVar("peer", default=None)
_SOCKET: ContextVar[PeerSocket | None] = ContextVar("socket", default=None)
# The identity of the peer whose request this thread serves; None for a process of this very user. Asked for twice per
# request, so it is the variable's own method.
peer = _PEER.get

_PEER_ERRORS = {  # what is wrong with a peer's certificate, by OpenSSL's code
    # X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED, for which Python has no names.
    9: "its certificate is not valid yet: this machine's clock is slow, or its authority's is fast",
    10: "its certificate has expired, or this machine's clock is fast: there, gcom certs renew or a new invitation",
}
_OWN_ERRORS = {  # what a peer found wrong with ours, by the alert that it sent
    "CERTIFICATE_EXPIRED": "our certificate has expired, by its clock: gcom certs renew, or a new invitation",
    "UNKNOWN_CA": "our certificate is of an authority that it does not trust: accept an invitation of its registry",
    "CERTIFICATE_REQUIRED": "it wants a certificate, and we showed none: gcom accept",
    "CERTIFICATE_REVOKED": "our certificate is revoked: ask the registry's operator",
    "BAD_CERTIFICATE": "our certificate is not valid yet by its clock, or no good: compare the clocks",
    "PROTOCOL_VERSION": "it does not speak TLS 1.3",
}


class SecureSocket:
    """A connection after its TLS handshake. `peer` is the identity that its certificate gives."""

    def __init__(self, raw: socket.socket, context: ssl.SSLContext, deadline: float, *, server: bool) -> None:
        self._raw = raw
        self._server = server
        self._timeout: float | None = None
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=server)
        self._state = Lock()  # of the TLS object: nothing waits with it
        self._sending = Lock()  # held while bytes go out, so that they go in order
        # Waiting is done by `poll`, with what is left of the time for the whole operation.
        # `poll` and not `select`, which takes no descriptor from 1024 on.
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(raw.fileno(), select.POLLIN)
        self._writable.register(raw.fileno(), select.POLLOUT)
        # OpenSSL never sees the socket, so only this class waits, and it knows the time for the whole.
        raw.setblocking(False)
        self._handshake(deadline)
        self.certificate: dict[str, Any] = self._tls.getpeercert() or {}
        # Once per connection: an identity is asked for with each request.
        self.peer = _identity(self.certificate)
        self.serial = int(str(self.certificate.get("serialNumber", "0")), 16)  # 0 if the peer showed no certificate

    def settimeout(self, timeout_s: float | None) -> None:
        self._timeout = timeout_s

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self._raw.setsockopt(level, option, value)

    def getsockname(self) -> Any:
        return self._raw.getsockname()

    def getpeername(self) -> Any:
        return self._raw.getpeername()

    def fileno(self) -> int:
        return self._raw.fileno()

    def shutdown(self, how: int) -> None:
        self._raw.shutdown(how)

    def close(self) -> None:
        self._raw.close()

    def sendall(self, data: bytes) -> None:
        deadline = self._deadline()
        # Held over both, so that records leave in the order in which they were encrypted: TLS refuses any other.
        with self._sending:
            with self._state:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._tls.write(rest) :]
                out = self._out.read()
            self._send(out, deadline)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return bytes as they come, or `b""` at the end. With MSG_PEEK, bytes of TLS: whether there are any."""
        # Only whether anything came is asked: an idle connection that was closed, or a request that waits.
        if flags & socket.MSG_PEEK:
            return self._raw.recv(size, flags)
        buffer = bytearray(size)
        return bytes(buffer[: self.recv_into(buffer, size)])

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        """Read some bytes, with MSG_WAITALL all of them, and return how many; fewer, or 0, is the end."""
        deadline, rest = self._deadline(), memoryview(buffer)[: size or None]
        while True:
            with self._state:
                # A call of OpenSSL lets go of the interpreter, and may wait long for it: none is made in vain.
                count = self._read(rest) if self._in.pending or self._tls.pending() or self._in.eof else -1
            if count > 0:
                rest = rest[count:]
            if count == 0 or not rest or (count > 0 and not flags & socket.MSG_WAITALL):
                return (size or len(buffer)) - len(rest)
            if count < 0:
                self._receive_records(deadline)

    def _read(self, buffer: memoryview) -> int:
        """Read what there is of TLS; 0 is the end, and -1 that more must come first. Holds the lock of the state."""
        try:
            count: Any = self._tls.read(len(buffer), buffer)
            return int(count)
        except ssl.SSLWantReadError:
            return -1
        # With and without a goodbye: a message carries its length, so one that was cut off is seen anyway.
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0
        except ssl.SSLError as error:
            raise self._failure(error) from error

    # for one who never waits; these raise BlockingIOError where they would have to

    def seal(self, data: bytes) -> bytes:
        """Return data as it travels: for `send_sealed`, in the order of sealing."""
        with self._state:
            rest = memoryview(data)
            while rest:
                rest = rest[self._tls.write(rest) :]
            return self._out.read()

    def send_sealed(self, data: memoryview) -> int:
        """Send some of what was sealed; return how much."""
        return self._raw.send(data)

    def recv_now(self, size: int) -> bytes:
        """Return bytes that have come; `b""` at the end."""
        while True:
            with self._state:
                try:
                    return self._tls.read(size)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return b""
                except ssl.SSLError as error:
                    raise self._failure(error) from error
            data = self._raw.recv(_READ_BYTES)
            with self._state:
                if data:
                    self._in.write(data)
                else:
                    self._in.write_eof()

    def _handshake(self, deadline: float) -> None:
        while True:
            try:
                self._tls.do_handshake()
                return self._send(self._out.read(), deadline)
            except ssl.SSLWantReadError:
                self._send(self._out.read(), deadline)
                self._receive_records(deadline)
            except ssl.SSLEOFError as error:
                raise EOFError("it ended in the handshake: perhaps it speaks no TLS") from error
            except ssl.SSLError as error:
                with suppress(OSError):
                    self._send(self._out.read(), deadline)  # which tells the peer why
                raise self._failure(error) from error

    def _failure(self, error: ssl.SSLError) -> Exception:
        """Return the error in words; a server tells its own counts alone, in the words of OpenSSL."""
        return error if self._server else Untrusted(_words(error))

    def _receive_records(self, deadline: float | None) -> None:
        """Wait for records of TLS, or the end, and give them to OpenSSL."""
        while True:
            # Nothing is there as a rule: who has been answered waits for the next request, who has asked for an answer.
            self._wait(self._readable, deadline)
            try:
                data = self._raw.recv(_READ_BYTES)
                break
            except BlockingIOError:
                continue
        with self._state:
            if data:
                self._in.write(data)
            else:
                self._in.write_eof()

    def _send(self, data: bytes, deadline: float | None) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._raw.send(rest) :]
            except BlockingIOError:
                self._wait(self._writable, deadline)

    def _wait(self, poll: select.poll, deadline: float | None) -> None:
        left = None if deadline is None else deadline - monotonic()
        # Another thread closed it: there is nothing to wait for any more.
        if self._raw.fileno() < 0:
            raise OSError(errno.EBADF, "closed by this side")
        if left is not None and (left <= 0 or not poll.poll(left * 1000)):
            raise TimeoutError("out of time")
        if left is None:
            poll.poll()

    def _deadline(self) -> float | None:
        if self._timeout == 0:
            raise BlockingIOError(errno.EAGAIN, "a secure connection is asked by MSG_PEEK alone")
        return None if self._timeout is None else monotonic() + self._timeout


PeerSocket = socket.socket | SecureSocket


def dialled(
    sock: socket.socket, credentials: Dialer | None, deadline: float, member: str | None
) -> socket.socket | SecureSocket:
    """Return a connection that was dialled, as secure as it must be: to that member, or to a registry if that is None.

    Raises Untrusted where the two sides do not believe each other, EOFError, OSError.
    """
    if credentials is None:
        return sock
    secure = SecureSocket(sock, credentials.client, deadline, server=False)
    if is_revoked(secure, credentials):
        raise Untrusted(f"its certificate ({secure.peer}) is revoked")
    # Not the host is compared but the identity: addresses change, and a member's certificate is no other's anywhere.
    if credentials.verifies and not (secure.peer.registries if member is None else member in secure.peer.members):
        wanted = "a registry" if member is None else f"{identity.MEMBER}/{member}"
        raise Untrusted(f"its certificate is of {secure.peer}, and not of {wanted}: another listens at this address")
    return secure


def accepted(sock: socket.socket, credentials: Credentials, deadline: float, *, openly: bool) -> SecureSocket:
    """Return a connection that was accepted, after its TLS handshake; `openly` without a certificate, too.

    Raises PlainSpoken, ssl.SSLError, EOFError, OSError. Whether its certificate was revoked is `is_revoked`'s.
    """
    sock.settimeout(max(0.001, deadline - monotonic()))
    # A GCom without certificates gets words, in its own form; in TLS it could not read them.
    if sock.recv(1, socket.MSG_PEEK) == _PLAIN_GCOM:
        raise PlainSpoken
    context = credentials.open_server if openly else credentials.server
    return SecureSocket(sock, context, deadline, server=True)


def is_revoked(sock: PeerSocket, credentials: Dialer | None) -> bool:
    """Tell whether the peer's certificate was revoked, perhaps since the connection was made."""
    return credentials is not None and isinstance(sock, SecureSocket) and sock.serial in credentials.revoked


class PlainSpoken(Exception):
    """A peer that speaks without TLS, where that is not done."""


@contextmanager
def serving(who: Identity | None, sock: PeerSocket) -> Iterator[None]:
    """Have `peer`, `peer_serial` and `peer_place` tell whose request is being served, while it is."""
    # A context variable, for a server's threads serve many connections, and a request may be looked at far from its
    # socket.
    token = _PEER.set(who)
    served = _SOCKET.set(sock)
    try:
        yield
    finally:
        _PEER.reset(token)
        _SOCKET.reset(served)


def peer_serial() -> int:
    """Return the serial number of the certificate of the peer whose request this thread serves; 0 if there is none."""
    sock = _SOCKET.get()
    return sock.serial if isinstance(sock, SecureSocket) else 0


def peer_place() -> str:
    """Return the `host:port` that the peer whose request this thread serves dialled from; empty if there is none."""
    return place_of_peer(_SOCKET.get())


def place_of_peer(sock: PeerSocket | None) -> str:
    """Return the `host:port` at the other end of a connection; empty if there is none."""
    try:
        host, port, *_ = sock.getpeername() if sock else ("", 0)
    except OSError:  # it went away
        return ""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}" if host else ""


def refusal(error: ssl.SSLError) -> str:
    """Return what a server counts a failed handshake as."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "certificate"
    return "no certificate" if error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE" else "handshake"


def _identity(certificate: dict[str, Any]) -> Identity:
    names = certificate.get("subjectAltName", ())
    return identity.from_uris(value for kind, value in names if kind == "URI")


def _words(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _PEER_ERRORS.get(error.verify_code, f"its certificate is not of our authority ({error.verify_message})")
    reason = error.reason or str(error)
    found = (words for alert, words in _OWN_ERRORS.items() if reason.endswith(f"ALERT_{alert}"))
    return next(found, f"no TLS with it ({reason.replace('_', ' ').lower()}): perhaps it is no GCom")
