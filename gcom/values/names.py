"""Names of people's choosing, and the identities made from them.

A *process* of a group is `name#incarnation` and never equal to another by its address: a member that comes back is a
new process (ARCHITECTURE 4; JGroups met what comes of reusing them in JGRP-2286).
"""

from __future__ import annotations

import re
from functools import lru_cache

from gcom.errors import BadValue
from gcom.values import limits

GroupName = str
InstanceId = str  # of one instance of a group; it carries its lineage (gcom/values/lineage.py)
Process = str  # `name#incarnation`
Address = str  # `host:port`, and `@host.life` behind it where a life is named (docs/protocols/continuity.md)

# JSON escapes none of these (cli/rows.py, trace/lines.py), and `#` and `@`, which identities are made with,
# are not among them.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_INCARNATION = re.compile(r"[0-9a-z]{1,16}")
PROCESS = re.compile(f"{_NAME.pattern}#{_INCARNATION.pattern}")
_LIFE = r"[0-9a-z]{1,32}\.[0-9a-z]{1,32}"
_ADDRESS = re.compile(rf"([A-Za-z0-9._-]{{1,253}}|\[[0-9A-Fa-f:]{{2,39}}\]):([0-9]{{1,5}})(?:@{_LIFE})?")
_NAME_RULE = "a letter or digit, then up to {} letters, digits, dots, underscores or hyphens"


def member_name(text: object) -> str:
    """Return `text` if it may name a member; raise BadValue if not."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise BadValue(f"member name {text!r} is not allowed: " + _NAME_RULE.format(31))
    return text


def group_name(text: object) -> str:
    """Return `text` if it may name a group; raise BadValue if not."""
    if not isinstance(text, str) or not _GROUP.fullmatch(text):
        raise BadValue(f"group name {text!r} is not allowed: " + _NAME_RULE.format(62))
    return text


def address(text: object) -> Address:
    """Return `text` if it is `HOST:PORT`, with or without a life behind it (`@host.life`); raise BadValue if not."""
    match = _ADDRESS.fullmatch(text) if isinstance(text, str) else None
    if not isinstance(text, str) or not match or int(match[2]) > 65535:
        raise BadValue(f"address {text!r} is not HOST:PORT, as in 127.0.0.1:7411")
    return text


def registry_address(text: object) -> Address:
    """Return the address of a registry: `HOST:PORT`, or `HOST` for port REGISTRY_PORT; raise BadValue."""
    given = text.strip() if isinstance(text, str) else text
    # Colons without brackets may be of an IPv6 address, and the last word a port or not: that is not guessed.
    bare = isinstance(given, str) and (given.endswith("]") or ":" not in given)
    try:
        return address(f"{given}:{limits.REGISTRY_PORT}" if bare else given)
    except BadValue as error:
        raise BadValue(f"registry {text!r} is not HOST or HOST:PORT, as in 10.0.0.5:7411 or [fd00::5]:7411") from error


def addresses(text: object) -> tuple[Address, ...]:
    """Return the registries in a text, each once, at most REGISTRIES_MAX; commas divide them. Raise BadValue."""
    words = text.split(",") if isinstance(text, str) else [text]
    found = tuple(dict.fromkeys(map(registry_address, words)))
    if len(found) > limits.REGISTRIES_MAX:
        raise BadValue(f"{len(found)} registries are too many: at most {limits.REGISTRIES_MAX}")
    return found


def split_address(text: Address) -> tuple[str, int]:
    """Return host and port of a valid address; brackets of an IPv6 host are dropped."""
    host, _, port = place_of(address(text)).rpartition(":")
    return host.strip("[]"), int(port)


def place_of(text: Address) -> str:
    """Return the `host:port` of an address, for people."""
    return text.partition("@")[0]


def life_of(text: Address) -> str:
    """Return the `host.life` that an address names; empty where it names none."""
    return text.partition("@")[2]


def process(name: str, incarnation: str) -> Process:
    """Return the identity of one incarnation of a member; raise BadValue for an incarnation that is not allowed."""
    if not _INCARNATION.fullmatch(incarnation):
        raise BadValue(f"incarnation {incarnation!r} is not 1 to 16 of 0-9 and a-z")
    return f"{member_name(name)}#{incarnation}"


@lru_cache(4096)  # asked for each frame and each reply
def name_of(who: Process) -> str:
    """Return the name in a process id: `alice` of `alice#7f3a`."""
    return who.partition("#")[0]
