"""Short forms of processes and messages for narrow places."""

from __future__ import annotations

from gcom_chat.model.texts.isolates import apart


def short(process: str) -> str:
    """Return a process's name without its incarnation."""
    return process.partition("#")[0]


def called(process: str) -> str:
    """Return a process's name to be put beside other words."""
    return apart(short(process))


def span(sender: str, first: int, last: int) -> str:
    """Return messages of a sender: "bob 5", or "bob 5–7"."""
    return f"{called(sender)} {first}" + (f"–{last}" if last > first else "")


def seconds(since_s: float) -> str:
    """Return a time that has passed: tenths up to a minute, then minutes."""
    return f"{since_s:.1f} s" if since_s < 60 else f"{int(since_s // 60)} min {int(since_s % 60)} s"


def milliseconds(ms: float) -> str:
    """Return a duration with about three figures."""
    return f"{ms:.2f} ms" if ms < 10 else f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1000:.1f} s"
