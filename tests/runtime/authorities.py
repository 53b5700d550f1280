"""An authority for tests, and credentials of whatever identity."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from gcom.certificates import identity_files, keys
from gcom.certificates.authority import make_authority, now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.runtime import pyro
from gcom.values import identity
from gcom.values.identity import Identity


class TestAuthority:
    """An authority in a folder, with identities beside it."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = make_authority(folder / "authority", now_utc() - timedelta(days=1))

    def files(self, who: Identity, now: datetime | None = None, days: float = 30) -> CertificateFiles:
        """Write an identity; return its files."""
        key = keys.new_key()
        certificate = self.authority.issue(key.public_key(), who, now or now_utc(), days)
        folder = self.folder / f"identity-{len(list(self.folder.iterdir()))}"
        identity_files.save(folder, keys.key_pem(key), certificate, self.authority.pem)
        return identity_files.files_in(folder)

    def member(self, name: str, *, admin: bool = False) -> CertificateFiles:
        return self.files(identity.member(name, admin=admin))

    def credentials(self, who: Identity) -> pyro.Credentials:
        return pyro.Credentials(self.files(who))
