"""The options of `gcom-registry` by which it serves."""

from __future__ import annotations

from typing import Annotated

import typer

from gcom.cli import options

Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT[-PORT]]",
        help="Listen there, for other machines, by TLS; the first start makes an authority and a certificate.",
        show_default=False,
    ),
]
Advertise = Annotated[
    str | None,
    typer.Option(metavar="HOST[:PORT]", help="The address for others, where it is another.", show_default=False),
]
Cert = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A certificate of your own. [default: $GCOM_TLS_CERT]", show_default=False),
]
Key = Annotated[
    str | None, typer.Option(metavar="FILE", help="Its private key. [default: $GCOM_TLS_KEY]", show_default=False)
]
Authority = Annotated[
    str | None,
    typer.Option("--ca", metavar="FILE", help="Its authority's. [default: $GCOM_TLS_CA]", show_default=False),
]
Host = Annotated[str | None, typer.Option(help="Loopback address to listen on. [default: 127.0.0.1]")]
Port = Annotated[
    str | None, typer.Option(metavar="PORT", help="Port to listen on; 0 takes any free one. [default: 7411]")
]
Data = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep names and votes there; `none` keeps nothing. Default: a folder of the user's for each port; "
        "with --port 0 none.",
        show_default=False,
    ),
]
Rights = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The file of rights, off loopback; SIGHUP has it read anew. Default: rights.toml beside the authority, "
        "if it is there.",
        show_default=False,
    ),
]
GroupsMax = Annotated[str | None, typer.Option(metavar="N", help="Groups in all. [default: 10000]")]
GroupsEach = Annotated[
    str | None, typer.Option(metavar="N", help="Groups that one member may have, off loopback. [default: 500]")
]
EmptyDays = Annotated[
    str | None,
    typer.Option(metavar="N", help="Remove a group that nobody joins for so many days; 0: never. [default: 7]"),
]
# As a member's: one flag has one meaning in both programs.
Metrics = options.Metrics
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file with settings that are not given otherwise; `none` reads none. Default: registry.toml in the "
        "user's configuration folder, if it is there.",
        show_default=False,
    ),
]
LogFormat = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="text, or json: one object a line. [default: text]")
]
LogLevel = Annotated[
    str | None, typer.Option(metavar="LEVEL", help="The least that is logged: DEBUG, INFO, ... [default: WARNING]")
]
Json = options.Json
