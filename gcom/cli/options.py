"""The options that several sub-commands share, and the parsing of their values."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated

import typer

from gcom.errors import BadValue
from gcom.values import limits, names
from gcom.values.definition import Definition, Multicast, Netsplit, Ordering, TieBreaker

LINGER_S_MAX = 1e9  # thirty years; infinity would overflow the waits of the operating system

# By their parsers each name is in NFC from here on.
Group = Annotated[
    str, typer.Argument(metavar="GROUP", parser=names.group_name, help="The group's name.", show_default=False)
]
Name = Annotated[
    str,
    typer.Option(metavar="NAME", parser=names.member_name, help="This member's name in the group.", show_default=False),
]
Registry = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT][,HOST[:PORT]]",
        help="Where the registry is, or several; port 7411 if none is said. [default: $GCOM_REGISTRY, else 127.0.0.1]",
    ),
]
LogDir = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Write delivery logs into this folder.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
OrderingWord = Annotated[
    str | None, typer.Option("--ordering", help=f"One of {', '.join(Ordering)}. [default: FIFO]", metavar="ORDER")
]
MulticastWord = Annotated[
    str | None, typer.Option("--multicast", help=f"One of {', '.join(Multicast)}. [default: RELIABLE]", metavar="KIND")
]
StaticWords = Annotated[
    str | None, typer.Option("--static", metavar="A,B,C", help="The only names that may join. [default: anybody may]")
]
Safe = Annotated[bool, typer.Option("--safe", help="Deliver what a majority of the view holds; RELIABLE only.")]
Signed = Annotated[bool, typer.Option("--signed", help="Each message has its sender's signature; needs certificates.")]
NetsplitWord = Annotated[
    str | None, typer.Option("--netsplit", help=f"One of {', '.join(Netsplit)}. [default: PRIMARY]", metavar="POLICY")
]
TieBreakerWord = Annotated[
    str | None,
    typer.Option(
        "--tie-breaker",
        help=f"The judge when half of a view is left: one of {', '.join(TieBreaker)}. [default: LEADER]",
        metavar="WHO",
    ),
]
DetectionWord = Annotated[
    str | None,
    typer.Option(
        "--detection",
        help="How long a member may be silent: lan (4 s), wan (12 s), or seconds. [default: lan]",
        metavar="lan|wan|SECONDS",
    ),
]
Cert = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Certificate of this process, with --key and --ca. [default: $GCOM_TLS_CERT]"),
]
Key = Annotated[str | None, typer.Option(metavar="FILE", help="Its private key. [default: $GCOM_TLS_KEY]")]
Authority = Annotated[
    str | None, typer.Option("--ca", metavar="FILE", help="The one authority that is trusted. [default: $GCOM_TLS_CA]")
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT[-PORT]]",
        help="Where a member listens. [default: $GCOM_LISTEN, else where its registry can reach it]",
    ),
]
Advertise = Annotated[
    str | None,
    typer.Option(metavar="HOST[:PORT]", help="Its address for others, where another. [default: $GCOM_ADVERTISE]"),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Serve /metrics, /healthz and /readyz there, by HTTP, on 127.0.0.1 unless a host is named.",
        show_default=False,
    ),
]
Wait = Annotated[
    int, typer.Option(min=1, max=limits.MEMBERS_MAX, metavar="N", help="Send nothing until the view has N members.")
]
# No default of its own: a member at a shell stays until somebody ends it, and only a script knows when it has enough.
Linger = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Leave when the input, if any, has ended and nothing was delivered for so long. [default: stay]",
        show_default=False,
    ),
]


def definition(
    group: str,
    ordering: str | None,
    multicast: str | None,
    static: str | None,
    safe: bool,
    netsplit: str | None,
    tie_breaker: str | None = None,
    detection: str | None = None,
    signed: bool = False,
) -> Definition:
    """Return the definition that the options give; raises BadValue."""
    given = {"ordering": ordering, "multicast": multicast, "netsplit": netsplit}
    given |= {"tie_breaker": tie_breaker, "detection": detection}
    # What was not given is left out, so that the defaults stand in Definition alone.
    words = {what: word for what, word in given.items() if word is not None}
    # An empty word is a list of one name that cannot be, and is refused: else nobody at all might join.
    static_names = [name.strip() for name in static.split(",")] if static is not None else []
    return Definition.parse(group, static=static_names, safe=safe, signed=signed, **words)


# Refused, not passed over: a user who says --safe must not be in a group that is not, and believe it.
def refuse_without_create(**given: object) -> None:
    """Raise BadValue naming the first option of a creation, which means nothing without --create."""
    for name, value in given.items():
        if value:
            raise BadValue(f"--{name} is for --create: a group that is there keeps its definition")


def checked_linger(seconds: float | None) -> float | None:
    """Return the seconds; raises BadValue unless they are 0 to LINGER_S_MAX, or None."""
    # NaN compares as neither less nor more, and would pass a plain comparison of bounds.
    if seconds is not None and (math.isnan(seconds) or not 0 <= seconds <= LINGER_S_MAX):
        raise BadValue(f"linger {seconds} is not 0 to {LINGER_S_MAX:.0f} seconds")
    return seconds


def into_environment(
    cert: str | None, key: str | None, ca: str | None, listen: str | None, advertise: str | None
) -> None:
    """Set the environment variables that the library reads, from the options of all commands."""
    given = {"TLS_CERT": cert, "TLS_KEY": key, "TLS_CA": ca, "LISTEN": listen, "ADVERTISE": advertise}
    # Over what the shell has set: the nearer word counts.
    for variable, value in given.items():
        if value is not None:
            os.environ[f"GCOM_{variable}"] = value
