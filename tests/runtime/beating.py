"""A session whose heartbeat is due at a time, for tests of links."""

from __future__ import annotations

from gcom.values import limits


class Beating:
    """A session whose heartbeat to a peer is due at a time; it is its own machine."""

    process = "carol#1"  # greater than bob's, so it has the lead

    def __init__(self, due: int) -> None:
        self.due: int | None = due
        self.brought: list[int] = []
        self.asked = 0  # for a frame
        self.waits = False  # its heartbeat may wait for another group's
        self.trusted = True  # its peer, by this group
        self.read_told = 0  # before it is asked whether its heartbeat may wait
        self.heard_of: list[str] = []  # in another group
        self.machine = self.heartbeats = self

    def due_ms(self, _: str) -> int | None:
        return self.due

    def bring_forward(self, _: str, now_ms: int, within_ms: int = limits.HEARTBEATS_TOGETHER_MS) -> None:
        self.brought.append(now_ms)
        if self.due is not None and self.due <= now_ms + within_ms:
            self.due = min(self.due, now_ms)

    def put_off(self, _: str, now_ms: int) -> bool:
        return self.waits

    def heard(self, peer: str, now_ms: int) -> None:
        self.heard_of.append(peer)

    def address_of(self, _: str) -> str | None:
        return "127.0.0.1:1"

    def tell_read(self) -> None:
        self.read_told += 1

    def shows_life(self, _: str) -> bool:
        return self.trusted

    def data_waits(self, _: str) -> bool:
        return False

    def take(self, _: str) -> None:
        self.asked += 1
