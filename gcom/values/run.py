"""A run: consecutive messages of one sender, the unit of protocol work (DESIGN 2)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.values.names import Process

Payload = bytes | str


@dataclass(frozen=True, slots=True)
class Run:
    """Messages `first … last` of `sender`, sent in `view`.

    `clock` holds the entries of the sender's vector clock that changed since its previous run: the highest number it
    had delivered from each other process. `encoded` is the run as it travels, made once for all peers.
    """

    sender: Process
    view: int
    first: int
    clock: dict[Process, int]
    payloads: list[Payload]
    encoded: bytes

    @property
    def last(self) -> int:
        return self.first + len(self.payloads) - 1
