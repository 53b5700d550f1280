"""Instance ids that only this registry can make: the time of a founding, chance, and a seal over these and the name."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time

from gcom.values import lineage

_TIME, _CHANCE, _SEAL = 11, 4, 12  # digits of hexadecimal; 48 bits of seal: each guess costs a call to the registry


class SealedIds:
    """The ids of a registry whose key is `key`; the key outlives its data folder, so it knows its ids without that."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._last_ms = 0
        self._lock = threading.Lock()

    def new(self, group: str) -> str:
        """Return the id of an instance that is founded now."""
        with self._lock:
            # Never the same twice, though the clock stands or is set back for a moment.
            self._last_ms = max(self._last_ms + 1, time.time_ns() // 1_000_000)
            head = lineage.founded(self._last_ms, secrets.token_hex(_CHANCE // 2))
        return head + self._seal(group, head)

    def is_own(self, group: str, origin: str) -> bool:
        """Return whether an id was made here, or by a registry with the same key, for this group."""
        head, seal = origin[:-_SEAL], origin[-_SEAL:]
        return len(head) == _TIME + _CHANCE and hmac.compare_digest(seal, self._seal(group, head))

    def _seal(self, group: str, head: str) -> str:
        return hmac.digest(self._key, f"{head} {group}".encode(), hashlib.sha256).hex()[:_SEAL]
