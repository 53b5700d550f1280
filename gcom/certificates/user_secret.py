"""The secret of a user, by which the processes of one user know each other on loopback. Made when first needed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from gcom.certificates import private_files
from gcom.errors import BadValue

BYTES = 32  # as many as the hash of the proofs that are made with it


def path() -> Path:
    """Return where the user's secret is, or will be."""
    return private_files.state_folder() / "secret"


def read() -> bytes:
    """Return the user's secret; raises BadValue where it cannot be kept, or others may read it."""
    place = path()
    if not place.exists():
        _make(place)
    found = private_files.read_private(place)
    if len(found) != BYTES:
        raise BadValue(f"{str(place)!r} is damaged: remove it, and start all that runs again")
    return found


def _make(place: Path) -> None:
    """Make it whole, and only once, though several processes try."""
    private_files.make_folder(place.parent)
    beside = place.with_name(f".secret.{secrets.token_hex(4)}")
    private_files.write(beside, secrets.token_bytes(BYTES))
    try:
        # A link, which fails where the name is taken: of several processes that make it at once all use the one that
        # came first.
        os.link(beside, place)
    except FileExistsError:
        pass
    except OSError as error:
        raise BadValue(
            f"{str(place)!r} cannot be made: {error.strerror}; set XDG_STATE_HOME to a folder of yours"
        ) from error
    finally:
        beside.unlink()
