"""Holders of leases: a consumer's identity, which tells whether its process still runs.

A lease ends with its time. On the same host it ends at once with the process: the kernel knows which processes run, by
number and start. What is safe does not rest on this: a consumer that was taken for dead finds its deliveries stale.
"""

from __future__ import annotations

import os
import secrets
from functools import cache
from pathlib import Path

_STATE, _START = 0, 19  # of the fields of /proc/PID/stat, behind the name
_DEAD = ("Z", "X")


def new_holder() -> str:
    """Return a name that no other consumer has, with host, process and start of the process in it."""
    pid = os.getpid()
    return f"{_host()}/{pid}/{_started(pid)}/{secrets.token_hex(4)}"


def is_gone(holder: str) -> bool:
    """Tell whether a holder's process is over; False where this kernel cannot know."""
    host, pid, started, _ = (holder.split("/") + [""] * 4)[:4]
    return bool(host) and host == _host() and pid.isdigit() and _started(int(pid)) != started


@cache
def _host() -> str:
    """Return this boot and process namespace; empty where the system has no such things."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[_STATE] in _DEAD else fields[_START]
