"""Protocol versions: every call and every answer begins with the number that its side speaks."""

from __future__ import annotations

from gcom.errors import VersionMismatch
from gcom.values import limits


def mismatch(theirs: int) -> VersionMismatch:
    """The error that says whose GCom is to be replaced."""
    ours = limits.PROTOCOL_VERSION
    older = "the other side's" if theirs < ours else "this process's"
    return VersionMismatch(
        f"the other side speaks protocol {theirs}, this process {ours}: "
        f"{older} GCom is the older one; install the same version for both, and start that side again"
    )
