"""What a process used, as the operating system counts it."""

from __future__ import annotations

import resource
import sys


def cpu_s() -> float:
    """Seconds of processor time of this process, its own and the kernel's for it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_bytes() -> int:
    """The most memory that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
