"""Last words: that a group is over, kept by the last to leave it where no registry could be told.

1. A registry is down, and all members of a group leave, in good order. 2. It starts again, and lists them. 3. Nobody
can join: any of them may be paused, with all that the group had. So the last one keeps its word on the disk of its
user, and the next node of that user hands it in.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from loguru import logger

from gcom.certificates import private_files
from gcom.core.codec.registry import decode_request, encode_request
from gcom.core.messages.registry import Unregister
from gcom.core.multicast.signing import RunSigner
from gcom.errors import BadValue, GComError
from gcom.values.names import Address

WORDS_MAX = 1_000  # files; the oldest give way
OFFERED_MAX = 100  # of them, the newest, at each start of a node
AGE_MAX_S = 30 * 86_400.0


def folder() -> Path:
    """Return where this user's last words are kept; it need not be there."""
    return private_files.state_folder() / "last-words"


def statement(request: Unregister) -> bytes:
    """Return the bytes that the leaver signs."""
    # The words in front keep a signature that the same key made for a run from passing for this.
    parts = ("gcom last word", request.group, request.instance, str(request.view), request.process)
    return "\0".join(parts).encode()


def signed(request: Unregister, signer: RunSigner | None) -> Unregister:
    """Return the request with the leaver's proof, so that others can hand it in; as it is without certificates."""
    if signer is None:
        return request
    return replace(request, proof=signer.sign(statement(request)) + signer.credential(request.process))


def proves(request: Unregister, signer: RunSigner) -> bool:
    """Return whether the leaver itself made a request, whoever brings it."""
    signature, credential = request.proof[:64], request.proof[64:]
    check = signer.verifier(request.process, credential)
    return check is not None and check(signature, statement(request))


@dataclass(frozen=True, slots=True)
class LastWord:
    """A request that no registry has answered, the registries that it was for, and its file."""

    request: Unregister
    registries: tuple[Address, ...]
    path: Path


def keep(request: Unregister, registries: Sequence[Address]) -> bool:
    """Write a last word to the disk, whole; return False, and warn, where that cannot be."""
    name = hashlib.sha256(f"{request.group}\0{request.instance}".encode()).hexdigest()[:32]
    row = {"registries": list(registries), "request": encode_request(request).hex()}
    try:
        place = private_files.make_folder(folder())
        for old in sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime)[: -WORDS_MAX + 1]:
            old.unlink(missing_ok=True)
        private_files.write(place / f"{name}.json", json.dumps(row).encode())
    except (BadValue, OSError) as error:
        logger.warning("that group {!r} is over is kept nowhere: {}", request.group, error)
        return False
    return True


def kept() -> Iterator[LastWord]:
    """Yield the last words on this user's disk, the newest first; those that are too old, or damaged, are removed."""
    try:
        paths = sorted(folder().glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return
    for path in paths[:OFFERED_MAX]:
        try:
            if time.time() - path.stat().st_mtime > AGE_MAX_S:
                raise BadValue("it is too old")
            row = json.loads(private_files.read_private(path))
            request = decode_request(bytes.fromhex(row["request"]))
            if not isinstance(request, Unregister):
                raise BadValue("it is another request")
            yield LastWord(request, tuple(map(str, row["registries"])), path)
        except (GComError, OSError, ValueError, KeyError, TypeError) as error:
            logger.debug("{} is removed: {}", path, error)
            drop(path)


def drop(path: Path) -> None:
    """Remove a last word that was handed in."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
