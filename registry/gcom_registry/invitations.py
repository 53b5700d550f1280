"""Invitations to a registry, made beside it: it finds them in its authority's records."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from gcom.certificates.authority import KEY, Authority, now_utc
from gcom.certificates.invitation import Invitation, lifetime_s
from gcom.errors import BadValue
from gcom.values import identity, names
from gcom.values.spelling import imitated
from gcom_registry.enrolment import noted_address


def invitation(authority_folder: Path, name: str, admin: bool, expires: str) -> tuple[str, datetime, str]:
    """Return an invitation, when it ends, and a name with a certificate that the guest's looks like; raises BadValue.

    The last is empty where there is none (decision 0031).
    """
    who, lives = identity.member(name, admin=admin), timedelta(seconds=lifetime_s(expires))
    # Not made here: an authority that no registry uses would sign certificates that nobody believes.
    if not (authority_folder / KEY).exists():
        raise BadValue(
            f"no registry has made an authority in {str(authority_folder)!r}: start one with gcom-registry --listen "
            "ADDRESS; if one runs with --data FOLDER, say the same here"
        )
    authority, now = Authority(authority_folder), now_utc()
    address = noted_address(authority)
    made = Invitation(
        address, names.member_name(name), bytes.fromhex(authority.fingerprint), authority.invite(who, now, lives)
    )
    certified = sorted(set().union(*(identity.from_uris(it.uris).members for it in authority.records.issued())))
    return str(made), now + lives, imitated(made.name, certified)
