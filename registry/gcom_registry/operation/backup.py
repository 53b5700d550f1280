"""`gcom-registry backup`: a copy of all that a registry must not lose, taken while it runs or not.

The copy is a data folder like the registry's own, so that one starts from it. Its groups are marked as forgotten: what
was noted of them after the copy is not in it, and only an operator may then vouch for the rest (`gcom fork`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from gcom.certificates import private_files
from gcom.certificates.authority import CERTIFICATE, KEY, RECORDS, Authority
from gcom.errors import BadValue, PeerError
from gcom_registry.enrolment import ADDRESS, OWN
from gcom_registry.operation.asking import ask_backup
from gcom_registry.operation.serving import authority_folder, data_folder
from gcom_registry.operation.settings import ServiceSettings
from gcom_registry.rights_file import FILE as RIGHTS
from gcom_registry.storage import COPY, FILE, copy_closed


def back_up(wanted: ServiceSettings, folder: Path) -> list[str]:
    """Copy the registry of the settings into a new folder; return the files' names. Raises GComError."""
    data, authority = data_folder(wanted.get("data"), int(wanted["port"])), authority_folder(wanted.get("data"))
    if data is None or not (data / FILE).exists():
        raise BadValue(f"nothing to back up: no registry has kept anything in {str(data)!r} (gcom-registry config)")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadValue(f"{str(folder)!r} is there already: name a new folder for each backup")
    private_files.make_folder(folder)
    private_files.refuse_open_folder(folder)
    _copy_names(wanted, data, folder / FILE)
    if (authority / KEY).exists():
        _copy_authority(Authority(authority), folder / "authority")
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _copy_names(wanted: ServiceSettings, data: Path, target: Path) -> None:
    told = ask_backup(wanted)
    if told is None:  # none runs, and the file is not locked
        copy_closed(data / FILE, target)
    elif told.get("copied"):
        private_files.write(target, private_files.read(data / COPY))
        (data / COPY).unlink()
    else:
        raise PeerError(f"the registry made no copy: {told.get('refused', 'is it of another version?')}")


def _copy_authority(authority: Authority, folder: Path) -> None:
    private_files.make_folder(folder)
    for name in (CERTIFICATE, KEY, ADDRESS, RIGHTS):
        if (authority.folder / name).exists():
            private_files.write(folder / name, private_files.read(authority.folder / name))
    if (authority.folder / OWN).exists():
        shutil.copytree(authority.folder / OWN, folder / OWN)
    authority.records.copy(folder / RECORDS)
