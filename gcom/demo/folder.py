"""The folder of the demo's delivery logs: emptied first, and only if nothing but delivery logs is in it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from gcom.errors import BadValue

# With a point in front while it is written; six digits, as gcom/trace names them.
_SEGMENT = re.compile(r"\.?[0-9]{6}\.jsonl")
_DEPTH = 3  # member, incarnation, segment


def empty_log_folder(folder: Path) -> None:
    """Make `folder` an empty folder; raises BadValue, having changed nothing, if it holds what is no delivery log."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise BadValue(f"{str(folder)!r} is no folder: name another with --log-dir")
    # All of it before anything is removed: --log-dir may name a folder of the user's by mistake.
    strange = next((path for path in sorted(folder.rglob("*")) if not _is_ours(path, folder)), None)
    if strange is not None:
        raise BadValue(
            f"{str(folder)!r} is not emptied, since {str(strange)!r} is no delivery log: name another folder"
        )
    for path in folder.glob("*"):
        shutil.rmtree(path)
    folder.mkdir(parents=True, exist_ok=True)


def _is_ours(path: Path, folder: Path) -> bool:
    depth = len(path.relative_to(folder).parts)
    # Never through a link: what it points to is not ours, wherever it is.
    if path.is_symlink() or depth > _DEPTH:
        return False
    return path.is_dir() if depth < _DEPTH else path.is_file() and bool(_SEGMENT.fullmatch(path.name))
