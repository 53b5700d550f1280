"""The registry's side of certificates: it gives them to those whom it invited (docs/protocols/security.md)."""

from __future__ import annotations

import time
from pathlib import Path

from loguru import logger

from gcom import __version__
from gcom.certificates import identity_files, keys, private_files
from gcom.certificates.authority import KEY, Authority, make_authority, now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue
from gcom.runtime import pyro
from gcom.values import identity
from gcom.values.names import Address

_OWN, _ADDRESS = "registry", "address"


class Enrolment:
    """The object that a newcomer without a certificate may call, and nothing else."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def receive(self, data: bytes) -> bytes:
        return pyro.pack(self._answer(pyro.unpack(data)))

    def _answer(self, asked: object) -> dict[str, object]:
        match asked:
            case {"ask": "authority"}:
                return {"authority": self._authority.pem.decode(), "version": __version__, "time": time.time()}
            case {"ask": "enrol", "secret": bytes() as secret, "request": bytes() as request}:
                return self._enrol(secret, request)
        return {"refused": f"this registry, of version {__version__}, does not know that question"}

    def _enrol(self, secret: bytes, request: bytes) -> dict[str, object]:
        try:
            certificate = self._authority.enrol(secret, request, now_utc())
        except BadValue as error:
            logger.warning("an enrolment was refused: {}", error)
            return {"refused": str(error)}
        return {"certificate": certificate}


def own_authority(folder: Path) -> tuple[Authority, bool]:
    """Return the authority in a folder, and whether it was made just now; raises BadValue."""
    if (folder / KEY).exists():
        return Authority(folder), False
    return make_authority(folder, now_utc()), True


def own_files(authority: Authority) -> CertificateFiles:
    """Return the registry's own certificate of its authority, a fresh one each time that it starts."""
    folder, key = authority.folder / _OWN, keys.new_key()
    certificate = authority.issue(key.public_key(), identity.registry(), now_utc())
    identity_files.save(folder, keys.key_pem(key), certificate, authority.pem)
    return identity_files.files_in(folder)


def note_address(authority: Authority, address: Address) -> None:
    """Write down where the registry is, for the invitations to it."""
    private_files.write(authority.folder / _ADDRESS, f"{address}\n".encode())


def noted_address(authority: Authority) -> Address:
    """Return where the registry is, or was when it ran last; raises BadValue."""
    path = authority.folder / _ADDRESS
    if not path.exists():
        raise BadValue("no registry has run with this authority: start one first, with gcom-registry --listen ADDRESS")
    return path.read_text().strip()
