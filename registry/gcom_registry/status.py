"""A look at a registry that runs: for its metrics, its probes and `gcom-registry status`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass

from gcom.values.names import Address
from gcom_registry.requests import RequestCounts


@dataclass(frozen=True, slots=True)
class RegistryStatus:
    """A look at a registry.

    `started_s`: when it started, in seconds since 1970. `data`: its folder, empty where it keeps nothing. `grace_s`:
    for how long it gives no name away yet. `groups`: by state. `members`: of all their views. `sequenced`: groups of
    which it gives the serials. `stuck`, `ill`, `unready`: in words why it should be started again, what is wrong, or
    why nobody new should be sent to it; empty if all is well.
    """

    address: Address
    version: str
    started_s: float
    secure: bool
    data: str
    grace_s: float
    groups: dict[str, int]
    members: int
    connections: int
    connections_max: int
    sequenced: int
    requests: RequestCounts
    refused: Counter[str]
    stuck: str
    ill: str
    unready: str

    def as_row(self) -> dict[str, object]:
        """Return it in plain values, as it travels and as JSON."""
        # Nested, since JSON has no pairs for keys.
        requests: dict[str, dict[str, int]] = {}
        for (kind, outcome), count in sorted(self.requests.outcomes.items()):
            requests.setdefault(kind, {})[outcome] = count
        total_s = {kind: round(seconds, 6) for kind, seconds in sorted(self.requests.total_s.items())}
        return {**asdict(self), "requests": requests, "request_s": total_s, "refused": dict(self.refused)}
