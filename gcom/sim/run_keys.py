"""Keys of simulated processes, for groups that are signed: as `gcom.certificates.run_keys`, without the mathematics.

A signature is a hash that all can make, so it keeps no liar out; no simulated process lies. What it shows is whether
each run travels with what its receivers need to judge it, and with its own bytes, through every fault.
"""

from __future__ import annotations

from hashlib import sha512

from gcom.core.multicast.signing import Verify
from gcom.values.names import Address, Process


class SimRunKey:
    """The key of one simulated process, for as long as it lives: one that starts again has another."""

    def __init__(self, life: Address) -> None:
        self._key = life.encode()

    def sign(self, data: bytes) -> bytes:
        return _signature(self._key, data)

    def credential(self, process: Process) -> bytes:
        return process.encode() + b" " + self._key

    def verifier(self, sender: Process, credential: bytes) -> Verify | None:
        name, _, key = credential.partition(b" ")
        # The process is in it, so that nobody's key passes for another's: as a real credential has it.
        return (lambda signature, data: signature == _signature(key, data)) if name == sender.encode() else None


def _signature(key: bytes, data: bytes) -> bytes:
    return sha512(key + b" signs " + data).digest()
