"""Protocol versions: every call and every answer begins with the number that its side speaks."""

from __future__ import annotations

from gcom.errors import VersionMismatch
from gcom.values import limits


def check_version(theirs: int) -> None:
    """Raise VersionMismatch, which says which side is to be replaced, unless both speak one protocol."""
    ours = limits.PROTOCOL_VERSION
    if theirs != ours:
        older = "the other side's" if theirs < ours else "this process's"
        raise VersionMismatch(
            f"the other side speaks protocol {theirs}, this process {ours}: "
            f"{older} GCom is the older one; install the same version for both, and start that side again"
        )
