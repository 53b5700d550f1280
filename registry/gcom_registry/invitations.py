"""Invitations to a registry, made beside it: it finds them in its authority's records."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from gcom.certificates.authority import KEY, Authority, now_utc
from gcom.certificates.invitation import Invitation, lifetime_s
from gcom.errors import BadValue
from gcom.values import identity
from gcom_registry.enrolment import noted_address


def invitation(authority_folder: Path, name: str, admin: bool, expires: str) -> tuple[str, datetime]:
    """Return an invitation, and when it ends; raises BadValue."""
    who, lives = identity.member(name, admin=admin), timedelta(seconds=lifetime_s(expires))
    # Not made here: an authority that no registry uses would sign certificates that nobody believes.
    if not (authority_folder / KEY).exists():
        raise BadValue(
            f"no registry has made an authority in {str(authority_folder)!r}: start one with gcom-registry --listen "
            "ADDRESS; if one runs with --data FOLDER, say the same here"
        )
    authority, now = Authority(authority_folder), now_utc()
    address = noted_address(authority)
    made = Invitation(address, name, bytes.fromhex(authority.fingerprint), authority.invite(who, now, lives))
    return str(made), now + lives
