"""Checks of this process's connections to its registries and to other members; each finding says what is wrong.

The checks follow the order in which a connection needs them. The first failure ends the checks of that registry, since
what comes after it would only fail for the same reason; the next registry is checked all the same.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from gcom.cli.findings import Finding, lifetime
from gcom.core.messages.registry import Lookup
from gcom.errors import BadValue, GComError, PeerError, RegistryUnavailable, Untrusted, VersionMismatch
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.registry.registry_client import start_command
from gcom.runtime.security.enrolment import ask, fingerprint_of
from gcom.runtime.security.process import Security, credentials_for, node_place, registry_addresses
from gcom.values import limits, names
from gcom.values.names import Address

MEMBERS_MAX, DIALLERS = 1_000, 32  # nodes that are dialled, and how many of them at the same time
CLOCK_S = 120.0  # clocks may be so far apart: certificates begin five minutes back
DIAL_S, CALL_S = 3.0, 5.0  # a person waits: longer than a slow network needs, shorter than patience


class CheckFailed(Exception):
    """A failure that ends the checks of one registry."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.finding = Finding(code, False, text)


def examine(registry: str | None = None, name: str | None = None) -> Iterator[Finding]:
    """Yield what is found: of each registry up to the first that is wrong, then whether others reach this process."""
    try:
        addresses, security = _identity(registry, name)
    except CheckFailed as failed:
        yield failed.finding
        return
    of = "registry" if len(addresses) == 1 else "registries"
    # Without the brackets of a repr: this is read by users.
    yield Finding("identity", True, f"{of} {', '.join(addresses)}, as {security!r}".replace("<", "").replace(">", ""))
    # A member renews its certificate at two thirds of its life. One that is older is in use by nobody, or its renewal
    # fails, and nothing else says so before it ends.
    if isinstance(security, pyro.Credentials) and security.needs_renewal():
        yield _ends_soon(security)
    sound: list[Address] = []
    for address in addresses:
        try:
            yield from _check_registry(address, security)
            sound.append(address)
        except CheckFailed as failed:
            yield failed.finding
    # One is enough: all would dial the same address, and all know the same groups.
    if not sound:
        return
    if isinstance(security, pyro.Credentials):
        try:
            yield _reachable(sound[0], security)
        except CheckFailed as failed:
            yield failed.finding
    yield from _members(sound[0], security)


def _check_registry(address: Address, security: Security) -> Iterator[Finding]:
    """Check one registry; raises CheckFailed."""
    _dial(address)
    yield Finding("listens", True, f"{address} answers a dial")
    if isinstance(security, pyro.Credentials):
        yield from _authority(address, security)
    # Last: a request is answered only where all that was looked at before is right.
    _directory(address, security)
    yield Finding("directory", True, f"the directory at {address} answers us")


def _identity(registry: str | None, name: str | None) -> tuple[tuple[Address, ...], Security]:
    try:
        addresses = registry_addresses(registry, name)
        return addresses, credentials_for(addresses[0], name)
    except BadValue as error:
        raise CheckFailed("identity", str(error)) from error


def _ends_soon(mine: pyro.Credentials) -> Finding:
    days = (mine.ends - datetime.now(UTC)).total_seconds() / 86400
    mend = (
        "it renews itself within a minute while a member of it runs (gcom join), if the registry that invited it "
        "answers; else gcom certs renew NAME where the authority is, or ask for an invitation"
    )
    return lifetime("certificate", days, f"certificate {mine.files.cert!r} of {mine.identity}", mend)


def _dial(address: Address) -> None:
    host, port = names.split_address(address)
    try:
        pyro.dial(host, port, time.monotonic() + DIAL_S).close()
    # From the most particular to the most general: all three are OSErrors, of which each has another remedy.
    except ConnectionRefusedError as error:
        text = f"nobody listens at {address}: start {start_command(address)} there, or say --registry"
        raise CheckFailed("nobody", text) from error
    except TimeoutError as error:
        text = f"{address} does not answer: is that machine on, and does a firewall let port {port} through?"
        raise CheckFailed("unreachable", text) from error
    except socket.gaierror as error:
        text = f"no machine is known here as {host!r} ({error.strerror}): mend that name, or use its IP address"
        raise CheckFailed("unknown host", text) from error
    except OSError as error:
        raise CheckFailed("unreachable", f"no way leads to {address}: {error.strerror}; is the network up?") from error


def _authority(address: Address, mine: pyro.Credentials) -> Iterator[Finding]:
    """Check the authority, the clock and the version that the registry tells everybody."""
    # What a registry tells everybody, so that an identity that is not believed any more still finds out why.
    match _public_answer(address):
        case {"authority": str() as pem, "protocol": int() as protocol, "time": float() as clock}:
            # By fingerprint, not by text: a PEM may be wrapped or commented in another way and be the same certificate.
            if fingerprint_of(pem) != fingerprint_of(Path(mine.files.ca).read_text()):
                text = f"{address} is of another authority than our certificate: accept an invitation of that registry"
                raise CheckFailed("authority", text)
            yield Finding("authority", True, "the registry's authority is ours")
            _clock(clock - time.time())
            yield Finding("clock", True, "our clock and the registry's agree")
            if protocol != limits.PROTOCOL_VERSION:
                raise CheckFailed("version", _versions(protocol))
        case None:  # one with certificates of another's authority tells nothing to everybody
            return
        case _:
            raise CheckFailed("stranger", f"what answers at {address} speaks TLS, and is no gcom-registry")


def _public_answer(address: Address) -> object:
    try:
        return ask(address, {"ask": "authority"}, pyro.Newcomer(None), CALL_S)
    except Untrusted as error:
        # By its words, since the failure has no code of its own (`_OWN_ERRORS` in gcom/runtime/pyro/tls.py).
        # A registry that wants a certificate of everybody has no authority's records.
        if "wants a certificate" in str(error):
            return None
        raise CheckFailed(
            "stranger", f"what answers at {address} is no gcom-registry that speaks TLS: {error}"
        ) from error
    except PeerError as error:
        raise CheckFailed(
            "stranger", f"what answers at {address} is no gcom-registry that speaks TLS: {error}"
        ) from error
    except RegistryUnavailable as error:
        text = f"what answers at {address} is no gcom-registry that speaks TLS, or is overloaded: {error}"
        raise CheckFailed("stranger", text) from error


def _clock(ahead_s: float) -> None:
    # Of certificates it would only be seen as one that has expired, or is not valid yet.
    if abs(ahead_s) > CLOCK_S:
        which = "slow" if ahead_s > 0 else "fast"
        raise CheckFailed(
            "clock", f"this machine's clock is {abs(ahead_s):.0f} s {which} by the registry's: set one of them"
        )


def _versions(theirs: int) -> str:
    older = "the registry's" if theirs < limits.PROTOCOL_VERSION else "ours"
    return (
        f"the registry speaks protocol {theirs}, we {limits.PROTOCOL_VERSION}: {older} is the older GCom; install one"
    )


def _directory(address: Address, security: Security) -> None:
    with closing(DirectoryClient(address, CALL_S, credentials=security)) as client:
        try:
            # A name that nobody has, most likely: a refusal shows as well that the directory answers.
            client.ask(Lookup("gcom"))
        except VersionMismatch as error:
            raise CheckFailed("version", str(error)) from error
        except Untrusted as error:
            raise CheckFailed("trust", str(error)) from error
        except GComError as error:
            raise CheckFailed("stranger", str(error)) from error


def _reachable(address: Address, mine: pyro.Credentials) -> Finding:
    """Listen as a node would, and have the registry dial that."""
    try:
        place = node_place(mine, [address], None, None)
        # It gives back what it is sent: the registry dials, and asks nothing.
        served: dict[str, object] = {pyro.NODE: pyro.Endpoint(bytes)}
        with closing(pyro.Server.at(place, served, mine, toward=[address])) as server:
            asked = {"ask": "reach", "address": server.address}
            match ask(address, asked, mine, CALL_S):
                case {"reached": ""}:
                    return Finding("reachable", True, f"the registry reaches us at {server.address}")
                # The registry dialled us, since this process itself may reach an address that nobody else does.
                case {"reached": str() as why}:
                    raise CheckFailed(
                        "advertised",
                        f"others cannot reach us at {server.address} ({why}): say the right one with --advertise, or "
                        "have the firewall let it through (--listen HOST:FIRST-LAST)",
                    )
    except Untrusted as error:
        raise CheckFailed("trust", str(error)) from error
    except GComError as error:
        raise CheckFailed("advertised", str(error)) from error
    return Finding("reachable", True, "whether others reach us, this registry does not tell")


def _members(address: Address, security: Security) -> Iterator[Finding]:
    """Dial the members of the groups that the registry lists: it hears them, and the way from here may be cut."""
    with closing(DirectoryClient(address, CALL_S, credentials=security)) as client:
        try:
            groups = [group for group in client.groups() if group.alive]
        except Untrusted as error:
            yield Finding("trust", False, str(error))
            return
        except GComError as error:
            yield Finding("members", False, f"the groups at {address} cannot be listed: {error}")
            return
    # A node has one address in all of its groups. Those outside the view are dialled too: a member that was put out for
    # a bad link is there, and one that was killed is there as well, so they are no more than a warning.
    inside = {
        at: (who, group.definition.group)
        for group in groups
        for who, at in zip(group.members, group.addresses, strict=True)
    }
    outside = {at: (who, group.definition.group) for group in groups for who, at in group.others if at not in inside}
    asked = [*inside, *outside][:MEMBERS_MAX]
    with ThreadPoolExecutor(DIALLERS) as diallers:
        answers = list(diallers.map(_why_not_dialled, asked))
    yield from (
        _unreached(*(inside | outside)[at], at, why, warning=at in outside)
        for at, why in zip(asked, answers, strict=True)
        if why
    )
    reached = answers.count("")
    if reached:
        yield Finding("members", True, f"{reached} of {len(asked)} members of groups answer a dial from here")


def _why_not_dialled(address: Address) -> str:
    host, port = names.split_address(address)
    try:
        pyro.dial(host, port, time.monotonic() + DIAL_S).close()
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _unreached(who: str, group: str, at: Address, why: str, *, warning: bool) -> Finding:
    place = names.place_of(at)
    if warning:
        text = f"{who}, lately of {group!r}, is not reached at {place} ({why}): right if it has ended"
        return Finding("member", True, text, warning=True)
    text = (
        f"member {who} of {group!r} is not reached at {place} ({why}), though the registry hears it: let a firewall "
        "between that machine and this one pass it, or have it say another --advertise; of two members that do not "
        "reach each other a group puts one out"
    )
    return Finding("member", False, text)
