"""Signatures of runs, in a group whose definition is `signed` (docs/protocols/signing.md).

Signed are the group, the instance, and the run's bytes: sender, view, numbers, clock, payloads. A run is judged by its
bytes alone, so all members, whenever it reaches them and by whatever way, judge alike. Keys come from the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gcom.core.codec import frames as codec
from gcom.values.names import GroupName, InstanceId, Process
from gcom.values.run import Run, Seal

Verify = Callable[[bytes, bytes], bool]  # whether a signature is of these bytes


class RunSigner(Protocol):
    """The key of this process, and its way to know the keys of others. A function of its arguments alone."""

    def sign(self, data: bytes) -> bytes:
        """Return the signature of this process's key."""
        ...

    def credential(self, process: Process) -> bytes:
        """Return the proof that the key is of this process."""
        ...

    def verifier(self, sender: Process, credential: bytes) -> Verify | None:
        """Return the check by the key that a credential gives to the sender; None: it gives none."""
        ...


class Signatures:
    """Seals this process's runs in a view, and judges those of others."""

    def __init__(
        self, signer: RunSigner, process: Process, group: GroupName, instance: InstanceId, *, may_lose: bool
    ) -> None:
        self._signer = signer
        self._process = process
        # With the instance, whose id is never used twice: a run of one group or instance is none of another.
        self._context = f"gcom run\0{group}\0{instance}\0".encode()
        self._always = may_lose  # over BASIC any run may be the first that arrives
        self._credential_told = False  # in this view
        self._keys: dict[Process, Verify] = {}

    def install(self) -> None:
        """Begin a view: its first run of each sender has the credential, since some members may be new."""
        self._credential_told = False
        self._keys = {}

    @property
    def overhead(self) -> int:
        """Bytes that a seal adds to a run at most."""
        # 64 bytes are an Ed25519 signature; 16 are enough for the msgpack headers of the three parts.
        return len(self._signer.credential(self._process)) + 64 + 16

    def seal(self, encoded: bytes) -> tuple[bytes, Seal]:
        """Return a run of this process as it travels, and its seal."""
        credential = b"" if self._credential_told else self._signer.credential(self._process)
        # Said once a view. Over RELIABLE that run is the first which every member takes; over BASIC it may be lost.
        self._credential_told = not self._always
        return codec.seal_run(encoded, self._signer.sign(self._context + encoded), credential)

    def is_forged(self, run: Run) -> bool:
        """Return whether a run, which must follow what is here, is not signed by its sender."""
        seal = run.seal
        if seal is None:
            return True
        verify = self._keys.get(run.sender)
        if seal.credential:
            verify = self._signer.verifier(run.sender, seal.credential)
        # Without a key: the view's first run of its sender was this one or came before, and has a credential.
        if verify is None or not verify(seal.signature, self._context + run.encoded[seal.at_byte :]):
            return True
        self._keys[run.sender] = verify
        return False
