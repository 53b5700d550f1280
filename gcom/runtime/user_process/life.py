"""A life: one run of a node's process, and what its own kernel says of it (docs/protocols/continuity.md).

A life binds a name in Linux' abstract socket namespace for as long as it runs: the kernel takes the name away with the
process, however that ends, and at no other time. A stopped process keeps it, a mute port says nothing either way, and
another process at the same port has another name. So a process on the same host (the same boot and network namespace)
can ask the kernel, and nobody else can: an address names its host beside its life.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import sys
from functools import cache
from pathlib import Path

from gcom.runtime.user_process.process_events import keep
from gcom.values import names
from gcom.values.names import Address

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NETWORK = Path("/proc/self/ns/net")


class Life:
    """The life of a node, until its process ends or `end` is called; `name` is its part of an address."""

    def __init__(self) -> None:
        self._lock: socket.socket | None = None
        host = host_id()
        if not host:
            self.name = ""
            return
        token = secrets.token_hex(8)
        self.name = f"{host}.{token}"
        # The abstract namespace, not a file: a file outlives a process
        # that is killed, and would have to be judged by its age.
        self._lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._lock.bind(_socket_name(token))
        keep(self)  # a child that outlives this process is not this life

    def close(self) -> None:
        """Do what `end` does."""
        self.end()

    def end(self) -> None:
        """End the life, though the process may go on. May be called again."""
        if self._lock is not None:
            self._lock.close()


@cache
def host_id() -> str:
    """Return the id of this kernel's boot and network namespace; empty where the system has no such things.

    The first half is the boot, the second the namespace: 12 and 8 hexadecimal digits.
    """
    if not sys.platform.startswith("linux"):
        return ""
    try:
        boot, network = _BOOT.read_text(), os.readlink(_NETWORK)
    except OSError:
        return ""
    return _digest(boot, 12) + _digest(network, 8)


def is_dead(address: Address) -> bool:
    """Return whether the kernel says that the life which an address names is over; False where nothing can say so."""
    host, _, token = names.life_of(address).partition(".")
    mine = host_id()
    # Another network namespace has abstract names of its own: of each of them this kernel would say that nobody has it.
    if not token or not mine or host[12:] != mine[12:]:
        return False
    # Another boot id, and an address on loopback: of this very machine before a restart, or of a container with a boot
    # id of its own in this network namespace. The kernel knows which: the name is taken by the second alone. An address
    # off loopback may be of another machine, whose namespace has this one's number.
    if host != mine and names.split_address(address)[0] not in ("127.0.0.1", "::1", "localhost"):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            # A datagram socket connects without the other's help,
            # so a stopped process answers like a running one.
            probe.connect(_socket_name(token))
    except ConnectionRefusedError:
        return True
    # Any other error says nothing about the process, want of descriptors neither; only the kernel's plain word is proof
    # (ARCHITECTURE 10).
    except OSError:
        return False
    return False


def _socket_name(token: str) -> str:
    return f"\0gcom-life-{token}"


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
