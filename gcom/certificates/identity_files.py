"""A user's own identities: for each name a key, a certificate, the authority's, and the registry that invited it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from gcom.certificates import private_files
from gcom.errors import BadValue
from gcom.values import names, spelling
from gcom.values.names import Address

if TYPE_CHECKING:
    from gcom.certificates.keys import Key

KEY, CERTIFICATE, AUTHORITY, REGISTRY = "key.pem", "certificate.pem", "authority.pem", "registry"
NEW_KEY = "new-key.pem"  # of an invitation that is being accepted
_DEFAULT = ".default"  # no name begins so


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Three PEM files: a certificate, its private key, and the certificate of the one authority that is trusted."""

    cert: str
    key: str
    ca: str


def identities_folder() -> Path:
    """Return the folder of the user's identities; it need not be there."""
    return private_files.data_folder() / "identities"


def files_in(folder: Path) -> CertificateFiles:
    """Return the files of an identity that is in a folder."""
    return CertificateFiles(*(str(folder / name) for name in (CERTIFICATE, KEY, AUTHORITY)))


def save(folder: Path, key: bytes, certificate: bytes, authority: bytes, registry: Address | None = None) -> None:
    """Write an identity into a folder, in place of what was there; raises BadValue."""
    private_files.make_folder(folder)
    private_files.write(folder / AUTHORITY, authority)
    private_files.write(folder / KEY, key)
    # After the key: an identity counts as there when it has a certificate.
    private_files.write(folder / CERTIFICATE, certificate)
    if registry is not None:
        note_registry(folder, registry)


def note_registry(folder: Path, registry: Address) -> None:
    """Write down where the registry of an identity is; raises BadValue."""
    private_files.write(folder / REGISTRY, f"{registry}\n".encode())


def store(name: str, key: bytes, certificate: bytes, authority: bytes, registry: Address | None = None) -> Path:
    """Write an identity among the user's own, as the one that commands without a name use; return its folder."""
    name = names.member_name(name)
    folder = _own_folder(name)
    save(folder, key, certificate, authority, registry)
    # Last: what commands use without a name is whole by then.
    private_files.write(identities_folder() / _DEFAULT, f"{name}\n".encode())
    return folder


def kept_key(name: str) -> tuple[Key, bool]:
    """Return the key for which a certificate is about to be asked, kept from now on, and whether it was made now.

    Raises BadValue where nothing can be stored: so that is found out before an invitation is used.
    """
    from gcom.certificates import keys  # it takes a tenth of a second, and most processes make no key

    path = private_files.make_folder(_own_folder(names.member_name(name))) / NEW_KEY
    fresh = not path.exists()
    key = keys.new_key() if fresh else keys.load_key(private_files.read_private(path), repr(str(path)))
    # Also where it is there: that a file can be written now is what counts.
    private_files.write(path, keys.key_pem(key))
    return key, fresh


def forget_kept_key(name: str) -> None:
    """Remove the key that was kept, and its folder where nothing else is in it."""
    folder = _folder(name)
    (folder / NEW_KEY).unlink(missing_ok=True)
    with suppress(OSError):  # there is an identity in it
        folder.rmdir()


def stored() -> list[str]:
    """Return the names of the user's identities, sorted."""
    return sorted(unquote(path.parent.name) for path in identities_folder().glob(f"*/{CERTIFICATE}"))


def folder_of(name: str | None) -> Path | None:
    """Return the folder of an identity, of the default one where no name is given; None where there is none."""
    if name is None:
        chosen = identities_folder() / _DEFAULT
        name = chosen.read_text("utf-8").strip() if chosen.exists() else None
    folder = _folder(name) if name else None
    # The default may have been removed since it was noted.
    return folder if folder and (folder / CERTIFICATE).is_file() else None


def registry_of(folder: Path) -> Address | None:
    """Return the registry that invited an identity, if one did; raises BadValue for what is no address."""
    path = folder / REGISTRY
    if not path.exists():
        return None
    try:
        return names.address(path.read_text().strip())
    except OSError as error:
        raise BadValue(f"file {str(path)!r} cannot be read: {error.strerror}") from error


def _folder(name: str) -> Path:
    # In ASCII: a file system may keep other letters in a form of its own.
    return identities_folder() / names.escaped(spelling.normal(name))


def _own_folder(name: str) -> Path:
    """Return the folder of a name that is about to be written; raises BadValue where it is another name's."""
    folder, home = _folder(name), identities_folder()
    # As where capitals are the same as small letters: the other's key would be lost.
    if folder.exists() and folder.name not in os.listdir(home):
        raise BadValue(f"identity {name!r} has the folder of another name here, which differs in capitals: use that")
    return folder
