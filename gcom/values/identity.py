"""Identities: the names that a certificate gives to the process that holds its key (docs/protocols/security.md)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from gcom.errors import BadValue
from gcom.values import names
from gcom.values.names import Process

_SCHEME = "gcom://"
MEMBER, REGISTRY, ADMIN = "member", "registry", "admin"


@dataclass(frozen=True, slots=True)
class Identity:
    """The names in a certificate, by kind: as which members its holder may speak, and as what else."""

    members: frozenset[str] = frozenset()
    registries: frozenset[str] = frozenset()
    admins: frozenset[str] = frozenset()

    def speaks_for(self, process: Process) -> bool:
        """Tell whether the holder may be this process of a group."""
        return names.name_of(process) in self.members

    @property
    def uris(self) -> tuple[str, ...]:
        """Return the identity as subject alternative names of a certificate."""
        kinds = ((MEMBER, self.members), (REGISTRY, self.registries), (ADMIN, self.admins))
        return tuple(f"{_SCHEME}{kind}/{names.escaped(name)}" for kind, found in kinds for name in sorted(found))

    def __str__(self) -> str:
        return shown(self.uris) or "nobody"


NOBODY = Identity()


def shown(uris: Iterable[str]) -> str:
    """Return the identities that subject alternative names give, for people: `member/alice, admin/alice`."""
    return ", ".join(unquote(uri.removeprefix(_SCHEME)) for uri in uris)


def member(name: str, *, admin: bool = False) -> Identity:
    """Return the identity of a member; raise BadValue for a name that is not allowed."""
    allowed = frozenset([names.member_name(name)])
    return Identity(allowed, admins=allowed if admin else frozenset())


def registry(name: str = "main") -> Identity:
    """Return the identity of a registry; raise BadValue for a name that is not allowed."""
    return Identity(registries=frozenset([names.member_name(name)]))


def from_uris(uris: Iterable[str]) -> Identity:
    """Return the identity that subject alternative names give; those that are not ours mean nothing."""
    found: dict[str, set[str]] = {MEMBER: set(), REGISTRY: set(), ADMIN: set()}
    for uri in uris:
        kind, _, name = uri.removeprefix(_SCHEME).partition("/")
        if uri.startswith(_SCHEME) and kind in found:
            with suppress(BadValue):  # as a name that a later version of Unicode has
                found[kind].add(names.unescaped(name))
    return Identity(*(frozenset(found[kind]) for kind in (MEMBER, REGISTRY, ADMIN)))
