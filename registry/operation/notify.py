"""Notifications to the systemd that started this service with Type=notify (sd_notify(3)); nothing where nobody asks."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

VARIABLE = "NOTIFY_SOCKET"


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
