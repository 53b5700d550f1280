"""The resources that a process used, as the operating system counts them."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gcom.errors import Unavailable

if TYPE_CHECKING:
    import psutil


def cpu_s() -> float:
    """Return the seconds of processor time of this process, its own and the kernel's for it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def switches() -> int:
    """Return how often a thread of this process gave up its core, or lost it to another."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_nvcsw + used.ru_nivcsw


def waited_s_of(process: int) -> float:
    """Return the seconds that a process's threads, those that live, could run and had no core; 0 where none tells."""
    # Linux counts it for each thread: time on a core, time in the queue for one, turns (proc(5), schedstat).
    waited_ns = 0
    for path in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # this thread has just ended
            waited_ns += int(path.read_text("ascii").split()[1])
    return waited_ns / 1e9


def cpu_s_of(process: int) -> float:
    """Return the seconds of processor time of another process, in hundredths. Raises Unavailable if it is gone."""
    times = _process(process).cpu_times()
    return float(times.user + times.system)


def peak_bytes() -> int:
    """Return the peak of this process's resident memory in bytes."""
    # Linux counts kibibytes here, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_bytes(process: int, descendants: bool = False) -> int:
    """Return the memory that a process has resident now, with all its descendants if wanted.

    Raises Unavailable if one of them is gone.
    """
    import psutil

    parent = _process(process)
    try:
        family = [parent, *(parent.children(recursive=True) if descendants else ())]
        return sum(int(each.memory_info().rss) for each in family)
    except psutil.NoSuchProcess as error:
        raise Unavailable(f"process {error.pid} is gone, whose memory was to be measured") from error


def _process(process: int) -> psutil.Process:
    # Imported here, as benches without figures of other processes need no psutil.
    import psutil

    try:
        return psutil.Process(process)
    except psutil.NoSuchProcess as error:
        raise Unavailable(f"process {error.pid} is gone, which was to be measured") from error
