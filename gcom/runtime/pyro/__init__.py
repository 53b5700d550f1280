"""All that touches Pyro5: settings, the hardened daemon, and calls to a peer.

Stock Pyro5 trusts its peers further than GCom may: the peer picks the serializer (marshal among them), the handshake
is deserialised before anybody looks at it, compressed data grows without bound, a client that says nothing can hold
the accept loop, and an answer may be any exception of the peer's choosing. So this package speaks Pyro5's wire protocol
(version 502, `Pyro5.protocol`) with its own reader, used on both sides:

  * every message is judged by its 40 byte header before its body is read: size, flags, serializer, annotations;
  * bodies are msgpack, read as plain values; nothing from a peer ever becomes an object, and no exception is rebuilt.
    Where stock programs may call something, serpent, their default, is read under bounds (`stock`);
  * a connection that has not said CONNECT within `HANDSHAKE_S`, or is idle for long, is closed; when there are too
    many, the one that was idle for longest is; if none is idle, a new one is refused unread, so that the accept loop
    waits for nobody.

Who the peer is, is in `tls` and `secret` (docs/protocols/security.md). `places` says where a server listens, and at
which address others find it. A stock Pyro5 proxy can call what is open at a `Server`, and with SERIALIZER = "msgpack"
one that has no secret; a `Caller` can call a stock daemon that has msgpack. One call is two sends and four reads in
all, without correlation ids or metadata calls.
"""

from __future__ import annotations

import os

# Pyro5 reads every PYRO_* variable when it is imported, and refuses those that it does not know; a Kubernetes service
# called pyro makes such ones. GCom uses none of them, so they are out of sight for that moment.
_hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYRO_")}
try:
    import Pyro5  # noqa: F401 - imported for that moment
finally:
    os.environ.update(_hidden)

from gcom.runtime.pyro.caller import Caller, ConnectionLost, ConnectionRefused, HostUnknown, TimedOut  # noqa: E402 - after Pyro5
from gcom.runtime.pyro.credentials import Credentials, Dialer, Newcomer  # noqa: E402
from gcom.runtime.pyro.dialing import dial, resolved  # noqa: E402
from gcom.runtime.pyro.endpoint import Endpoint  # noqa: E402
from gcom.runtime.pyro.pipeline import Pipeline  # noqa: E402
from gcom.runtime.pyro.places import (  # noqa: E402
    WILDCARDS,
    Place,
    dialled_address,
    is_loopback,
    listenable,
    loopback,
    own_host,
    place,
    public_address,
    try_listening,
)
from gcom.runtime.pyro.secret import UserSecret  # noqa: E402
from gcom.runtime.pyro.server import Server, settings  # noqa: E402
from gcom.runtime.pyro.tls import peer, peer_place, peer_serial  # noqa: E402
from gcom.runtime.pyro.wire import CALL_BYTES_MAX, NODE, pack, unpack  # noqa: E402

DIRECTORY = "gcom.directory"  # the objects that a registry serves
SEQUENCER = "gcom.sequencer"
STATUS = "gcom.status"  # of nodes and registries: they tell how they stand
RIGHTS = "gcom.rights"  # of a registry: its rules about rights
ENROLMENT = "gcom.enrolment"  # the one object that a newcomer without a certificate may call

__all__ = [
    "CALL_BYTES_MAX",
    "DIRECTORY",
    "ENROLMENT",
    "NODE",
    "RIGHTS",
    "SEQUENCER",
    "STATUS",
    "WILDCARDS",
    "Caller",
    "ConnectionLost",
    "ConnectionRefused",
    "Credentials",
    "Dialer",
    "Endpoint",
    "HostUnknown",
    "Newcomer",
    "Pipeline",
    "Place",
    "Server",
    "TimedOut",
    "UserSecret",
    "dial",
    "dialled_address",
    "is_loopback",
    "listenable",
    "loopback",
    "own_host",
    "pack",
    "peer",
    "peer_place",
    "peer_serial",
    "place",
    "public_address",
    "resolved",
    "settings",
    "try_listening",
    "unpack",
]
