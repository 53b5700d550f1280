"""The cache of `--incremental STATE`, which keeps the results of sealed segments, so that only new ones are read.

A segment is recognized by its path, its size, its time of modification, and whether it was its log's last. Results hold
fingerprints, so the folder keeps their seeds too. A damaged file, or one that another version wrote, is ignored.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.input.files import is_remote, is_unsealed, local
from gcom.audit.plan.chains import chains_of
from gcom.audit.plan.wire import pack, unpack
from gcom.errors import BadValue

# Goes up with every change of what a summary holds: results of another version would be taken for today's.
_VERSION = 11
_MARK = "gcom-audit-state"


class IncrementalCache:
    """The folder of kept results; made if it is not there. Raises BadValue for a folder that holds something else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        mark = folder / _MARK
        # The folder is written to and its files are read as ours, so one that holds anything else is more likely a
        # mistake than a wish.
        if folder.exists() and any(folder.iterdir()) and not mark.exists():
            raise BadValue(
                f"{folder} has other files: expected a folder that --incremental made, or a new one; name another"
            )
        folder.mkdir(parents=True, exist_ok=True)
        found = _read(mark)
        if found is None or found[0] != _VERSION or [type(each) for each in found] != [int, int, int]:
            found = (_VERSION, secrets.randbits(64), secrets.randbits(64))
            _write(mark, found)
        # New fingerprints must be comparable with kept ones, so the seeds are drawn once per folder
        # and not per audit.
        self.seeds: tuple[int, int] = (found[1], found[2])

    def unread(self, catalogue: Catalogue) -> int:
        """Return how many bytes have to be read: those of segments without a kept result."""
        chains = [chain for chain in chains_of(catalogue, 1) if not self.has_chain(chain, catalogue)]
        return sum(catalogue.sizes[path] for chain in chains for path in chain.paths)

    def get_chain(self, chain: Chain, catalogue: Catalogue) -> list[tuple[Any, ...]] | None:
        """Return the kept rows of a chain, None if there are none. Only chains of one segment are kept."""
        kept = len(chain.paths) == 1
        return self.get(chain.paths[0], catalogue.sizes[chain.paths[0]], last=chain.last) if kept else None

    def has_chain(self, chain: Chain, catalogue: Catalogue) -> bool:
        """Tell whether rows of a chain are kept, without reading them."""
        path = chain.paths[0]
        file = self._file(path, catalogue.sizes[path], last=chain.last) if len(chain.paths) == 1 else None
        return file is not None and file.exists()

    def put_chain(self, chain: Chain, catalogue: Catalogue, rows: Sequence[tuple[Any, ...]]) -> None:
        """Keep the rows of a chain, if it is of one segment."""
        if len(chain.paths) == 1:
            self.put(chain.paths[0], catalogue.sizes[chain.paths[0]], [tuple(row) for row in rows], last=chain.last)

    def get(self, path: str, size: int, *, last: bool) -> Any:
        """Return the kept result of a segment, or None."""
        file = self._file(path, size, last=last)
        found = None if file is None else _read(file)
        if found is None or len(found) != 3 or found[:2] != (_VERSION, self.seeds):
            return None
        return found[2]

    def put(self, path: str, size: int, thing: Any, *, last: bool) -> None:
        """Keep the result of a sealed segment; of one that is still written to nothing is kept."""
        file = self._file(path, size, last=last)
        if file is not None:
            _write(file, (_VERSION, self.seeds, thing))

    def _file(self, path: str, size: int, *, last: bool) -> Path | None:
        """Return the file for the result of a segment; None if it was still written to when it was listed, or is
        gone.
        """
        if is_unsealed(path):
            return None
        try:
            written = 0 if is_remote(path) else local(path).stat().st_mtime_ns
        except FileNotFoundError:
            return None  # whoever reads it finds a gap, as without a cache
        # A close with `rotate` is a gap at the end of a log (docs/audit.md) and none before another segment. So the
        # same file has another result once its process goes on, though its bytes are the same.
        name = hashlib.sha256(f"{path} {size} {written} {last}".encode()).hexdigest()
        return self._folder / name[:2] / name[2:]


def _read(path: Path) -> tuple[Any, ...] | None:
    try:
        found = unpack(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, tuple) and found else None


def _write(path: Path, thing: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")  # another audit may keep the same
    draft.write_bytes(pack(thing))
    # Either the whole file or none: an audit that is killed here leaves a draft, which nobody reads.
    os.replace(draft, path)
