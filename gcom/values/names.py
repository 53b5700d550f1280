"""Names of people's choosing, and the identities made from them.

A *process* of a group is `name#incarnation` and never equal to another by its address: a member that comes back is a
new process (ARCHITECTURE 4; JGroups met what comes of reusing them in JGRP-2286).
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, unquote

from gcom.errors import BadValue
from gcom.values import limits, spelling

GroupName = str
InstanceId = str  # of one instance of a group; it carries its lineage (gcom/values/lineage.py)
Process = str  # `name#incarnation`
Address = str  # `host:port`, and `@host.life` behind it where a life is named (docs/protocols/continuity.md)

MEMBER_CHARS_MAX, GROUP_CHARS_MAX = 32, 63
# Percent-encoded three times as many: a name of a file has 255 at most.
NAME_BYTES_MAX = 72
_INCARNATION = re.compile(r"[0-9a-z]{1,16}")
_LIFE = r"[0-9a-z]{1,32}\.[0-9a-z]{1,32}"
_ADDRESS = re.compile(rf"([A-Za-z0-9._-]{{1,253}}|\[[0-9A-Fa-f:]{{2,39}}\]):([0-9]{{1,5}})(?:@{_LIFE})?")


def member_name(text: object) -> str:
    """Return the name of a member that a text spells, in NFC (decision 0031); raise BadValue if it spells none."""
    return _name("member", text, MEMBER_CHARS_MAX, spaced=True)


def group_name(text: object) -> GroupName:
    """Return the name of a group that a text spells, as `member_name`; a group's has no spaces."""
    return _name("group", text, GROUP_CHARS_MAX, spaced=False)


def _name(kind: str, text: object, chars_max: int, *, spaced: bool) -> str:
    # No text grows shorter than a third of itself: one that is longer is not looked at.
    name = spelling.normal(text) if isinstance(text, str) and len(text) <= 3 * chars_max else ""
    why = spelling.problem(name, chars_max, NAME_BYTES_MAX, spaced=spaced)
    if not isinstance(text, str) or why:
        raise BadValue(f"{kind} name {text!r:.200} is not allowed: {why}")
    return name


def escaped(name: str) -> str:
    """Return a name in ASCII, for a file or a URI: percent-encoded outside `[A-Za-z0-9._~-]`."""
    return quote(name, safe="")


def unescaped(text: str) -> str:
    """Return the name of a member that `escaped` made a text of; raise BadValue for any other text."""
    name = member_name(unquote(text))
    # Of two spellings of one name one would pass where the other is revoked.
    if escaped(name) != text:
        raise BadValue(f"{text!r:.200} is not how a name is escaped: expected {escaped(name)!r}")
    return name


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


def same_process(text: object) -> Process:
    """Return `text` if it is a process with its name in NFC; raise BadValue if not."""
    name, _, incarnation = text.partition("#") if isinstance(text, str) else ("", "", "")
    found = process(name, incarnation)
    if found != text:
        raise BadValue(f"process {text!r:.200} is not in NFC")
    return found


def same_group(text: object) -> GroupName:
    """Return `text` if it is a group's name in NFC; raise BadValue if not."""
    if group_name(text) != text:
        raise BadValue(f"group name {text!r:.200} is not in NFC")
    return str(text)


@lru_cache(4096)  # asked for each frame and each reply
def name_of(who: Process) -> str:
    """Return the name in a process id: `alice` of `alice#7f3a`."""
    return who.partition("#")[0]
