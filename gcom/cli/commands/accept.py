"""`gcom accept`: an invitation becomes an identity of this user."""

from __future__ import annotations

from dataclasses import replace

from gcom.certificates.invitation import parse
from gcom.cli.output import notice
from gcom.cli.prompts import secret_line
from gcom.errors import BadValue, RegistryUnavailable
from gcom.runtime.security.enrolment import accept as take_up
from gcom.values import names

_ON_COMMAND_LINE = (
    "an invitation on the command line can be read by every user of this machine, and the first to show it is that "
    "member: it was not used. Run gcom accept, and paste it there; where others use this machine, ask for a new one"
)


def accept(given: str | None, registry: str | None) -> None:
    """Take up the invitation on standard input; raises BadValue where it was `given` on the command line."""
    if given not in (None, "-"):
        raise BadValue(_ON_COMMAND_LINE)
    line = secret_line("invitation (it is not shown): ")
    if not line:
        raise BadValue("no invitation came on standard input: paste the line at the prompt, or gcom accept <FILE")
    invited = parse(line)
    if registry is not None:
        # The invitation knows the registry by its authority, whatever its address.
        invited = replace(invited, registry=names.registry_address(registry))
    try:
        folder = take_up(invited)
    except RegistryUnavailable as error:
        # The same kind of error, so that the exit status stays 69.
        raise RegistryUnavailable(f"{error} If it has moved, say --registry HOST:PORT") from error
    notice(f"you are {invited.name} at the registry {invited.registry}; key and certificate are in {str(folder)!r}")
    notice(f"next: gcom join GROUP --name {invited.name}")
