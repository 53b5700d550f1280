"""Notifications to the systemd that started this service with Type=notify (sd_notify(3)); nothing where nobody asks."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

VARIABLE = "NOTIFY_SOCKET"
WATCHDOG_VARIABLE, WATCHDOG_PROCESS = "WATCHDOG_USEC", "WATCHDOG_PID"


def notify(state: str) -> None:
    """Tell a state, such as READY=1 or STOPPING=1. That nobody reads it is no failure of the service."""
    # By hand and without a library: it is one datagram, and most registries are started by no systemd.
    place = os.environ.get(VARIABLE)
    if not place:
        return
    # systemd writes the leading zero byte of an abstract socket as @.
    address = f"\0{place[1:]}" if place.startswith("@") else place
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.sendto(state.encode(), address)


@contextmanager
def watchdog(stuck: Callable[[], str]) -> Iterator[None]:
    """Tell systemd twice per WatchdogSec that the service goes on, while the block runs, unless it is stuck."""
    interval_s = _interval_s()
    if interval_s is None:
        yield
        return
    over = Event()

    def tell() -> None:
        while not over.wait(interval_s / 2):
            if not stuck():
                notify("WATCHDOG=1")

    telling = Thread(target=tell, name="gcom watchdog", daemon=True)
    telling.start()
    try:
        yield
    finally:
        over.set()
        telling.join()


def _interval_s() -> float | None:
    """Return the time after which systemd ends a service that tells it nothing, if it does so with this process."""
    text, process = os.environ.get(WATCHDOG_VARIABLE, ""), os.environ.get(WATCHDOG_PROCESS, "")
    # A child of the service inherits the variables, and is not meant.
    if not text.isdecimal() or process not in ("", str(os.getpid())):
        return None
    return int(text) / 1e6 or None
