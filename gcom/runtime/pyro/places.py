"""Places: where a server listens, and the address that it gives to others."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from gcom.errors import BadValue, Unavailable
from gcom.runtime.pyro.dialing import RESOLVE_S, resolved
from gcom.values import names
from gcom.values.names import Address

HOW_SECURE = (
    "accept an invitation of its registry (gcom accept), or give certificates by GCOM_TLS_CERT, "
    "GCOM_TLS_KEY and GCOM_TLS_CA"
)


WILDCARDS = ("0.0.0.0", "::")  # all addresses of this machine, for who listens; none for who dials


@dataclass(frozen=True, slots=True)
class Place:
    """A host to listen at, the ports to try in turn (0: any free one), and the address for others, if it is another."""

    host: str
    ports: tuple[int, ...] = (0,)
    advertise: str | None = None


def place(listen: str, advertise: str | None = None, port: int = 0) -> Place:
    """Return the place that `HOST`, `HOST:PORT` or `HOST:FIRST-LAST` means; raises BadValue."""
    host, ports = _split(listen)
    found = _ports(ports, listen) if ports else (port,)
    if advertise is not None:
        _split(advertise)
    return Place(host, found, advertise)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine alone, by its address or as `localhost`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def loopback(host: str) -> str:
    """Return the loopback IP address that `host` means; raises BadValue for any other."""
    if not is_loopback(host):
        # First, so that a name that means nothing is said to be that, and not to be without security.
        _resolved(host)
        raise BadValue(
            f"host {host!r} is not on this machine alone; other machines need mutual TLS: {HOW_SECURE}. "
            "For this machine alone use 127.0.0.1"
        )
    # By number: the name may mean ::1 here, where no server of ours listens.
    return "127.0.0.1" if host == "localhost" else host


def listenable(host: str, *, secure: bool) -> str:
    """Return the IP address to listen at; raises BadValue for one that is not loopback, unless it is secure."""
    return _resolved(host) if secure else loopback(host)


def try_listening(host: str, port: int) -> None:
    """Listen at an IP address for a moment; raises BadValue, and Unavailable for one that is taken."""
    with listening_errors(host, port), socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen()


@contextmanager
def listening_errors(host: str, port: int) -> Iterator[None]:
    """Raise BadValue where the block cannot listen at an address, Unavailable where that is taken."""
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        yield
    except PermissionError as error:
        raise BadValue(f"address {where} may not be used by this user: choose a port from 1024 on, or 0") from error
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            text = f"address {where} is none of this machine's: listen at one that is, or at 0.0.0.0 or ::"
            raise BadValue(f"{text}; the address for others is --advertise") from error
        raise Unavailable(
            f"address {where} cannot be used: {error.strerror}; stop what uses it, or choose another"
        ) from error


def public_address(at: Place, port: int, toward: Sequence[Address] = ()) -> Address:
    """Return the address for others of a server at a place: what was said, else the way that leads `toward` others.

    Raises BadValue where neither tells.
    """
    host = at.host
    if at.advertise is not None:
        host, ports = _split(at.advertise)
        # Others may dial another port than this machine listens at, where something between them forwards it.
        port = int(ports) if ports else port
    elif host in WILDCARDS:
        host = own_host(toward)
    return names.address(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def dialled_address(at: Place) -> Address:
    """Return the address at which this machine's own processes reach a server at a place."""
    # A wildcard is no address to dial: Linux takes it for this machine, other systems refuse it.
    host = "127.0.0.1" if at.host == "0.0.0.0" else "::1" if at.host == "::" else at.host
    return f"[{host}]:{at.ports[0]}" if ":" in host else f"{host}:{at.ports[0]}"


def own_host(toward: Sequence[Address] = ()) -> str:
    """Return this machine's IP address on the way to others, or to the world; raises BadValue if there is none.

    The first to whom a way leads decides: the name of another may not be found, or its network be away.
    """
    # Addresses for documentation (RFC 5737, RFC 3849): nobody has them, so any way out of this machine leads there.
    hosts = [names.split_address(each)[0] for each in toward] or ["192.0.2.1", "2001:db8::1"]
    for host in hosts:
        try:
            family, _, _, _, target = resolved(host, 9, monotonic() + RESOLVE_S)[0]
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect(target)  # sends nothing: it only chooses the way
                return str(probe.getsockname()[0])
        except OSError:
            continue
    raise BadValue("no way leads out of this machine, so its address is not known: say it with --advertise HOST")


def _split(text: str) -> tuple[str, str]:
    """Return host and ports of HOST, HOST:PORTS, [HOST]:PORTS or a bare IPv6 address; raises BadValue."""
    if text.startswith("["):
        host, _, ports = text[1:].partition("]")
        ports = ports.removeprefix(":")
    elif text.count(":") > 1:
        host, ports = text, ""
    else:
        host, _, ports = text.partition(":")
    if not host:
        raise BadValue(f"{text!r} names no host: expected HOST, HOST:PORT or [IPV6]:PORT")
    return host, ports


def _ports(text: str, whole: str) -> tuple[int, ...]:
    first, _, last = text.partition("-")
    # Not `isdigit` alone, which takes superscripts: `int` raises at those.
    numbers = [int(it) if it.isascii() and it.isdigit() else -1 for it in (first, last or first)]
    if not 0 <= numbers[0] <= numbers[1] <= 65535:
        raise BadValue(f"ports {text!r} of {whole!r} are not PORT, nor FIRST-LAST, of 0 to 65535")
    return tuple(range(numbers[0], numbers[1] + 1))


def _resolved(host: str) -> str:
    # An address needs no look-up, which would ask a name server, and may hang.
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        found: Iterable[str] = [str(it[4][0]) for it in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        return next(iter(found))
    except (OSError, StopIteration, UnicodeError) as error:
        raise BadValue(
            f"host {host!r} is not an IP address, nor a name that this machine knows: use 127.0.0.1"
        ) from error
