"""An authority for one benchmark, and one certificate with the names of all its processes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gcom.certificates import identity_files, keys
from gcom.certificates.authority import make_authority, now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.runtime.security.process import TLS_VARIABLES
from gcom.values.identity import Identity


def issued(folder: Path, names: Iterable[str]) -> CertificateFiles:
    """Return the files of a certificate that is every member's of these names, and the registry's."""
    authority, key = make_authority(folder / "authority", now_utc()), keys.new_key()
    # One certificate for all of them: the cost of TLS is measured, and not whose certificate is whose.
    who = Identity(frozenset(names), frozenset(["main"]))
    certificate = authority.issue(key.public_key(), who, now_utc())
    identity_files.save(folder / "identity", keys.key_pem(key), certificate, authority.pem)
    return identity_files.files_in(folder / "identity")


def environment(files: CertificateFiles) -> dict[str, str]:
    """Return the variables by which processes of this machine take that certificate, and speak TLS."""
    return dict(zip(TLS_VARIABLES, (files.cert, files.key, files.ca), strict=True))
