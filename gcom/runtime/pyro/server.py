"""The serving side: a Pyro5 daemon whose two ways in, handshake and request, are ours."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

from Pyro5 import config, errors, protocol
from Pyro5 import server as pyro_server

from gcom.errors import BadValue, GComError, Unavailable
from gcom.runtime.pyro import parting, stock, tls
from gcom.runtime.pyro.connections import ConnectionAdmission, Connections
from gcom.runtime.pyro.credentials import Credentials
from gcom.runtime.pyro.parting import Refusals
from gcom.runtime.pyro.places import (
    HOW_SECURE,
    Place,
    is_loopback,
    listenable,
    listening_errors,
    public_address,
    try_listening,
)
from gcom.runtime.pyro.secret import NONCE_BYTES, Exchange, UserSecret
from gcom.runtime.pyro.spare_workers import DueCallbacks, SpareWorkers
from gcom.runtime.pyro.wire import (
    CALL_BYTES_MAX,
    MSGPACK,
    NODE,
    NOT_TRUSTED,
    POOL_FULL,
    RefusedMessage,
    Requests,
    WireMessage,
    frame_call,
    frame_of,
    message,
    pack,
    plain,
    read,
    shut,
    write,
)
from gcom.runtime.user_process.process_events import keep
from gcom.values import limits, names
from gcom.values.identity import NOBODY, Identity
from gcom.values.names import Address

HANDSHAKE_S = 3.0  # a stranger has this long to introduce itself
WORKERS_SPARE = 32  # beyond the connections at once: they end those that give way, and tell others that all are busy
HOUSEKEEPING_S = 5.0  # idle connections are looked for so often; where shutting a socket wakes no thread, one lingers
ACCEPT_PAUSE_S = 0.05  # after accept failed for want of descriptors or threads
_TO_NODE = frame_call(NODE)


def settings(connections: int = limits.CONNECTIONS_MAX) -> None:
    """Set the process's Pyro5 configuration, which is global; the environment has no say in it."""
    # A PYRO_* variable of the user's shell must not change what is served here, or how.
    config.reset(use_environment=False)
    config.SERVERTYPE = "thread"
    config.THREADPOOL_SIZE = connections + WORKERS_SPARE
    config.THREADPOOL_SIZE_MIN = 4
    config.SERIALIZER = "msgpack"
    config.MAX_MESSAGE_SIZE = CALL_BYTES_MAX
    config.SOCK_NODELAY = True
    config.COMPRESSION = False
    # An iterator as an answer would be kept here for its caller, and nothing would bound how many, or for how long.
    config.ITER_STREAMING = False
    # With it an error would tell a peer the values of this process's variables.
    config.DETAILED_TRACEBACK = False
    # Deadlines are kept by `read`, per message: Pyro5's own would end a connection that is only idle.
    config.COMMTIMEOUT = 0.0
    config.MAX_RETRIES = 0
    config.POLLTIMEOUT = HOUSEKEEPING_S
    config.LOGWIRE = False
    config.SSL = False


class _NoInterface:
    """In place of Pyro5's DaemonObject, which would list to anybody what the daemon serves."""

    def __init__(self, daemon: object) -> None:
        pass


class _Daemon(pyro_server.Daemon):  # type: ignore[misc]
    """Pyro5's daemon with its two ways in replaced; Pyro5's worker pool calls them, one worker per connection."""

    def __init__(
        self,
        host: str,
        port: int,
        refusals: Refusals,
        connections: Connections,
        handshake_s: float,
        credentials: Credentials | UserSecret | None,
        openly: frozenset[str],
        callbacks: DueCallbacks | None,
    ) -> None:
        self._refusals = refusals
        self._connections = connections
        self._handshake_s = handshake_s
        self._credentials = credentials if isinstance(credentials, Credentials) else None
        self._secret = credentials if isinstance(credentials, UserSecret) else None
        self._openly = openly
        self.spare_workers = SpareWorkers(self.handleRequest, callbacks) if callbacks is not None else None
        super().__init__(host, port, interface=_NoInterface)

    def _handshake(self, conn: Any, denied_reason: str | None = None) -> bool:
        """Tell whether the connection may call. Never raises, never takes longer than `handshake_s`."""
        if denied_reason:
            self._deny(conn.sock)
            return False
        if not self._admit(conn):
            return False
        deadline = monotonic() + self._handshake_s
        try:
            self._secure(conn, deadline)
            if self._introduce(conn, deadline):
                return True
        except RefusedMessage as refused:
            self._refusals.add(refused.reason, conn.sock)
        except TimeoutError:
            self._refusals.add("silent", conn.sock)
        except ssl.SSLError as error:
            self._refusals.add(tls.refusal(error), conn.sock)
            parting.take_leave(conn.sock, self._handshake_s)  # the alert that was sent says why
        except (EOFError, OSError):
            pass  # it went away
        self.clientDisconnect(conn)
        return False

    def _secure(self, conn: Any, deadline: float) -> None:
        """Put TLS around the connection, where this server speaks it."""
        if self._credentials is None:
            return
        try:
            conn.sock = keep(tls.accepted(conn.sock, self._credentials, deadline, openly=bool(self._openly)))
        except tls.PlainSpoken as spoken:
            self._refuse(conn, "no TLS", f"{NOT_TRUSTED}this address speaks TLS alone: {HOW_SECURE}")
            raise EOFError("refused") from spoken
        # After the handshake, not in it: only then the certificate's serial is known to be the peer's own.
        if tls.is_revoked(conn.sock, self._credentials):
            self._refuse(conn, "revoked", parting.REVOKED)
            raise EOFError("refused")

    def _refuse(self, conn: Any, reason: str, words: str, seq: int = 0) -> None:
        """Count a refusal, and tell the peer; the caller then ends the connection."""
        self._refusals.add(reason, conn.sock)
        parting.refuse(conn.sock, words, self._handshake_s, seq)

    def _introduce(self, conn: Any, deadline: float) -> bool:
        """Tell whether the peer is welcome; a refusal is counted before the peer is told."""
        sock: tls.PeerSocket = conn.sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        hello = read(sock, deadline)
        try:
            _check_form(hello, self._speaks(hello.serializer))
            conn.gcom_peer = self._peer(sock, hello, deadline)
            with tls.serving(conn.gcom_peer, sock):
                answer = self._welcome(hello)
        except RefusedMessage as refused:
            self._refusals.add(refused.reason, sock)
            write(sock, protocol.MSG_CONNECTFAIL, 0, hello.seq, *stock.rejection(str(refused), hello.serializer))
            parting.take_leave(sock, self._handshake_s)
            return False
        if conn.gcom_peer is not NOBODY:
            self._connections.introduced(conn)  # before it is told: a stranger gives way, who is welcome does not
        write(sock, protocol.MSG_CONNECTOK, 0, hello.seq, answer, hello.serializer)
        # The deadline was the handshake's: a peer that then says nothing may be idle, which `end_idle` judges.
        sock.settimeout(None)
        conn.gcom_requests = Requests(sock)
        return True

    def _peer(self, sock: tls.PeerSocket, hello: WireMessage, deadline: float) -> Identity | None:
        """Return who the peer is: its certificate's names, or None for a process of this user."""
        if isinstance(sock, tls.SecureSocket):
            return sock.peer if sock.peer.uris else NOBODY
        return None if self._secret is None else self._prove(sock, self._secret, hello, deadline)

    def _prove(self, sock: tls.PeerSocket, secret: UserSecret, hello: WireMessage, deadline: float) -> Identity | None:
        """Return None once the peer has proved that it knows the user's secret, NOBODY for a stock program."""
        match stock.read_body(hello):
            case {"handshake": {"nonce": bytes() as nonce}, "object": str() as name} if len(nonce) == NONCE_BYTES:
                exchange = Exchange(sock.getpeername(), sock.getsockname(), name, nonce)
            case {"object": str() as name} if name in self.objectsById and name not in self._openly:
                text = f"{NOT_TRUSTED}this object is for processes of its own user alone, which prove that they are"
                raise RefusedMessage("no secret", text)
            # A stock program knows no challenge: it is not refused, and finds the open objects alone (`_objects`).
            case _:
                return NOBODY
        write(sock, protocol.MSG_CONNECTOK, 0, hello.seq, pack(exchange.challenge(secret)))
        if not exchange.verify_caller(secret, plain(read(sock, deadline).body)):
            text = f"{NOT_TRUSTED}you are another user of this machine, or have another home folder"
            raise RefusedMessage("wrong secret", text)
        return None

    def _speaks(self, serializer: int) -> bool:
        """Tell whether a serializer is read here; serpent only where stock programs may call something."""
        return serializer == MSGPACK or (
            serializer == stock.SERPENT and self._secret is not None and bool(self._openly)
        )

    def _welcome(self, hello: WireMessage) -> bytes:
        match stock.read_body(hello):
            case {"object": str() as name} if name in (objects := self._objects()):
                return stock.dump({"handshake": "hello", "meta": _exposed(objects[name])}, hello.serializer)
        raise RefusedMessage("unknown object", "no such object here")

    def _objects(self) -> dict[str, Any]:
        """Return the objects that the peer may call, by id: all, or the open ones for whoever has proved nothing."""
        who = tls.peer()
        if who is None or who.uris:
            return self.objectsById  # type: ignore[no-any-return]
        return {name: self.objectsById[name] for name in self._openly}

    def _deny(self, sock: socket.socket) -> None:
        """Refuse a connection without waiting, for the accept loop: a few bytes always fit a new one's buffer."""
        self._refusals.add("pool full")
        if self._credentials is not None:
            return  # there are no words before the handshake, for which there is no worker
        with contextlib.suppress(OSError):
            sock.setblocking(False)
            write(sock, protocol.MSG_CONNECTFAIL, 0, 0, pack(POOL_FULL))

    def handleRequest(self, conn: Any) -> None:
        """Serve one request of a connection. Raises a Pyro5 error to end it, for Pyro5's worker to close."""
        try:
            request = conn.gcom_requests.take()
            # 1. A peer connects. 2. Its certificate is revoked. 3. No handshake will ever ask about it again: a call
            # may come on this connection for as long as the peer wishes.
            if self._credentials is not None and tls.is_revoked(conn.sock, self._credentials):
                self._refuse(conn, "revoked", parting.REVOKED, request.seq)
                raise errors.SecurityError("revoked")
            is_new = self._connections.begin(conn)
            try:
                if conn.gcom_peer is None:  # a process of this very user is served under no name, and most requests are
                    conn.gcom_requests.answer(self._serve(request))
                else:
                    with tls.serving(conn.gcom_peer, conn.sock):
                        conn.gcom_requests.answer(self._serve(request))
            finally:
                self._connections.end(conn, is_new)
        except RefusedMessage as refused:
            self._refusals.add(refused.reason, conn.sock)
            with contextlib.suppress(OSError):
                conn.gcom_requests.flush()  # what was asked before is answered
            raise errors.SecurityError(refused.reason) from refused
        except (EOFError, OSError) as error:
            if self.spare_workers is not None:
                self.spare_workers.callbacks.wake()
            raise errors.ConnectionClosedError("gone") from error
        if self.spare_workers is not None and self.spare_workers.callbacks.listeners_due:
            self.spare_workers.call_back(conn)

    def _serve(self, request: WireMessage) -> bytes:
        """Return the answer to a request, as it travels."""
        if request.kind == protocol.MSG_PING:
            return message(protocol.MSG_PING, 0, request.seq, b"pong", request.serializer)
        if request.kind != protocol.MSG_INVOKE or (
            request.serializer != MSGPACK and not self._speaks(request.serializer)
        ):
            raise RefusedMessage("serializer" if request.kind == protocol.MSG_INVOKE else "message type")
        if request.flags & protocol.FLAGS_ONEWAY:
            raise RefusedMessage("oneway")  # a thread per call, without order or bound, and nobody to tell
        flags, answer = self._answer(request)
        return message(protocol.MSG_RESULT, flags, request.seq, answer, request.serializer)

    def _answer(self, request: WireMessage) -> tuple[int, bytes]:
        """Return flags and answer of a call: every error in it becomes an answer, and the connection goes on."""
        spoken = request.serializer
        try:
            found = self._call(request)
            # As GCom's own objects answer; what Pyro5's answer may be of any type.
            answer = pack(found) if type(found) is bytes and spoken == MSGPACK else stock.dump(found, spoken)
            # The caller would refuse it, and take this side for one that does not speak as it should.
            if len(answer) > CALL_BYTES_MAX:
                raise RefusedMessage("answer too large", "the answer is too large: ask for less")
        except RefusedMessage as refused:
            self._refusals.add(refused.reason)
            return protocol.FLAGS_EXCEPTION, stock.failure(errors.SecurityError(str(refused)), spoken)
        except GComError as refusal:  # a frame that its handler refused
            self._refusals.add(type(refusal).__name__)
            return protocol.FLAGS_EXCEPTION, stock.failure(
                errors.PyroError(f"{type(refusal).__name__}: {refusal}"), spoken
            )
        except errors.PyroError as error:
            return protocol.FLAGS_EXCEPTION, stock.failure(error, spoken)
        except Exception as error:  # outermost: a worker's own loop is Pyro5's, and ends at any exception
            self._refusals.add("failed call")
            return protocol.FLAGS_EXCEPTION, stock.failure(
                errors.PyroError(f"the call failed: {type(error).__name__}"), spoken
            )
        return 0, answer

    def _call(self, request: WireMessage) -> Any:
        if request.flags & protocol.FLAGS_BATCH:
            raise RefusedMessage("batch", "batches are not served: make single calls")
        frame = frame_of(request.body, _TO_NODE) if request.serializer == MSGPACK else None
        # As most calls are written; the rest is read value by value.
        if frame is not None and (node := self._objects().get(NODE)) is not None:
            return node.receive(frame)
        match plain(request.body) if request.serializer == MSGPACK else stock.read_body(request):
            case [str() as name, str() as method, [*positional], dict() as named] if name in (it := self._objects()):
                # Only what is exposed by name: else `__class__`
                # and what hangs on it could be had from outside.
                found = getattr(it[name], method, None) if method[:1] != "_" else None
                if getattr(found, "_pyroExposed", False) is not True or not callable(found):
                    raise RefusedMessage("unknown method", "no such method here")
                return found(*positional, **named)
            case [str(), str(), [*_], dict()]:
                raise RefusedMessage("unknown object", "no such object here")
        raise RefusedMessage("malformed call", "not a call: object, method, positional and named arguments")

    def _admit(self, conn: Any) -> bool:
        keep(conn.sock)
        admission = self._connections.admit(conn, _other_host(conn.sock))
        if admission is ConnectionAdmission.REFUSED:
            self._deny(conn.sock)
        elif admission is ConnectionAdmission.REPLACES:
            self._refusals.add("pool full")
        return admission in (ConnectionAdmission.REPLACES, ConnectionAdmission.ADMITTED)

    def clientDisconnect(self, conn: Any) -> None:
        """Let go of a connection; Pyro5's hook when one ended."""
        self._connections.forget(conn)

    def housekeeping(self) -> None:
        """End idle connections; Pyro5's hook each POLLTIMEOUT."""
        self._connections.end_idle()


class Server:
    """The server of `objects`, by id, at host:port until closed. Port 0 takes any free one.

    With credentials it speaks TLS alone, at any host. Without, it listens on loopback alone; with a user's secret it
    serves processes of that user. Raises BadValue for an address that may not be served, Unavailable for one that is
    taken.
    """

    def __init__(
        self,
        host: str,
        port: int,
        objects: dict[str, object],
        connections: int = limits.CONNECTIONS_MAX,
        idle_s: float = limits.CONNECTION_IDLE_MS / 1000,
        handshake_s: float = HANDSHAKE_S,
        credentials: Credentials | UserSecret | None = None,
        openly: frozenset[str] = frozenset(),
        callbacks: DueCallbacks | None = None,
    ) -> None:
        """Serve the objects in `openly` to peers that prove nothing, too, and nothing else to them.

        A worker that has answered does what is due of `callbacks`.
        """
        settings(connections)
        self._refusals = Refusals()
        self._connections = Connections(connections, idle_s)
        self._daemon = _bind(
            listenable(host, secure=isinstance(credentials, Credentials)),
            port,
            lambda ip, port: _Daemon(
                ip, port, self._refusals, self._connections, handshake_s, credentials, openly, callbacks
            ),
        )
        self.objects = self._daemon.objectsById = dict(objects)  # more may be put in, and taken out, at any time
        keep(self._daemon.transportServer.sock)
        self.address: Address = self._daemon.locationStr
        self._closing = threading.Event()
        self._close_lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name=f"gcom accept {self.address}", daemon=True)

    @classmethod
    def at(
        cls,
        place: Place,
        objects: dict[str, object],
        credentials: Credentials | UserSecret | None = None,
        toward: Sequence[Address] = (),
        openly: frozenset[str] = frozenset(),
        callbacks: DueCallbacks | None = None,
    ) -> Server:
        """Return a server at a place, at the first of its ports that is free; `address` is the one for others."""
        # The last one is not tried here, so that its error is the one that is raised.
        for port in place.ports[:-1]:
            with contextlib.suppress(Unavailable):
                return cls.at(replace(place, ports=(port,)), objects, credentials, toward, openly, callbacks)
        server = cls(place.host, place.ports[-1], objects, credentials=credentials, openly=openly, callbacks=callbacks)
        try:
            server.address = public_address(place, names.split_address(server.address)[1], toward)
        except BadValue:
            server.close()
            raise
        return server

    @property
    def refused(self) -> Counter[str]:
        """Counts of what was refused, by reason."""
        return self._refusals.counts

    def observe_refusals(self, observer: Callable[[str, str, str], None]) -> None:
        """Have each refused peer told, with the reason, where it dialled from, and the names that it showed."""
        self._refusals.observer = observer

    @property
    def connections(self) -> int:
        """The number that are open."""
        return len(self._connections)

    def start(self) -> None:
        """Begin to accept; connections made since the construction have waited."""
        self._thread.start()

    def close(self, drain_s: float = 0.0) -> None:
        """Stop listening, end every connection. May be called again.

        It waits `drain_s` seconds at most for calls in progress; 0 where a call itself closes the server.
        """
        with self._close_lock:
            if self._closing.is_set():
                return
            self._closing.set()
        transport = self._daemon.transportServer
        transport.shutting_down = True
        shut(transport.sock)
        if drain_s > 0:
            self._connections.drain(drain_s)
        self._connections.close()
        if self._daemon.spare_workers is not None:
            self._daemon.spare_workers.close()
        if self._thread.ident is not None:
            self._thread.join(timeout=1)
        transport.sock.close()  # only now: to close it sooner would keep the accept loop from noticing
        _end_pool(transport)

    def _accept(self) -> None:
        transport = self._daemon.transportServer
        while not self._closing.is_set():
            try:
                transport.events([transport.sock])
            except Exception:  # outermost: nothing that a client or the system does may end the accept loop
                if not self._closing.is_set():
                    self._refusals.add("accept failed")
                    self._closing.wait(ACCEPT_PAUSE_S)


def _bind(host: str, port: int, make: Callable[[str, int], _Daemon]) -> _Daemon:
    if type(port) is not int or not 0 <= port <= 65535:
        raise BadValue(f"port {port!r} is not 0 to 65535")
    # Pyro5 would say so too, but leave its socket open.
    try_listening(host, port)
    with listening_errors(host, port):
        daemon = make(host, port)
        daemon.sock.listen(128)  # Pyro5 swallows a failed listen, which a race for the port may cause
    return daemon


def _end_pool(transport: Any) -> None:
    """Do what Pyro5's own close does, without its waits: workers end when their connection has."""
    transport.housekeeper.stop.set()
    transport.pool.closed = True
    for worker in (*transport.pool.idle, *transport.pool.busy):
        worker.process(None)
    transport._selector.close()
    transport.housekeeper.join(timeout=1)  # it was told above: no thread is left behind
    transport.sock = transport.housekeeper = None


def _other_host(sock: socket.socket) -> str:
    """Return the address of another machine that dialled; empty for this one, whose processes all have one."""
    try:
        host = str(sock.getpeername()[0])
    except OSError:
        return ""
    return "" if is_loopback(host) else host


def _check_form(hello: WireMessage, spoken: bool) -> None:
    if hello.kind != protocol.MSG_CONNECT:
        raise RefusedMessage("no introduction")
    if not spoken:
        raise RefusedMessage("serializer", stock.WORDS)


def _exposed(it: object) -> dict[str, list[str]]:
    """Return the metadata of an object that a stock proxy asks for when it connects."""
    members = pyro_server._get_exposed_members(it)
    return {name: sorted(found) for name, found in members.items()}
