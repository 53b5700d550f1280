"""The registry's server: the pure directory behind a lock and a clock, the pure sequencer, and a name server.

A registry that starts again knows its groups as soon as their leaders have registered; nothing of that is durable. With
a data folder it can also be the witness of a tie, and its votes are.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from pathlib import Path

from gcom.core import sequencer_codec
from gcom.core.directory import Directory
from gcom.core.directory_codec import decode_request, encode_answer
from gcom.core.requests import Answer, Refusal
from gcom.core.sequencer import Sequencer
from gcom.core.witness import Witness
from gcom.errors import BadValue, Unavailable, VersionMismatch
from gcom.shell import pyro
from gcom.values.names import Address
from registry.naming import NAME_SERVER, SafeNameServer, list_system
from registry.storage import Votes


def mint_instance() -> str:
    """An instance id: 64 random bits, so that registries that know nothing of each other give different ones."""
    return secrets.token_hex(8)


class RegistryServer:
    """Serves once started, until closed. Port 0 takes any free one; `data` is the folder of its votes as a witness.

    Raises BadValue for an address or folder that may not be used, Unavailable for one that is taken.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, data: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._closed = False
        name_server = SafeNameServer()
        self._sequencer = Sequencer()
        self._sequencing = threading.Lock()  # its own: giving serials waits for no lookup
        endpoints = {
            pyro.DIRECTORY: pyro.Endpoint(self._receive),
            pyro.SEQUENCER: pyro.Endpoint(self._order),
        }
        self._votes: Votes | None = None
        self._server = pyro.Server(host, port, {NAME_SERVER: name_server, **endpoints})
        try:
            self._votes = Votes(data) if data else None
            witness = Witness(self._votes, self._votes.save) if self._votes else None
        except BadValue:
            self.close()
            raise
        self._directory = Directory(mint_instance, witness)
        self.address: Address = self._server.address
        list_system(name_server, (NAME_SERVER, *endpoints), self.address)

    @property
    def refused(self) -> Counter[str]:
        """How often what was refused from the network, by reason."""
        return self._server.refused

    def start(self) -> None:
        self._server.start()

    def close(self) -> None:
        """Stop at once; may be called again."""
        self._server.close()
        with self._lock:
            self._closed = True
            if self._votes:
                self._votes.close()

    def _order(self, data: bytes) -> bytes:
        """Raises MalformedFrame or VersionMismatch, which the server counts and tells the peer."""
        request = sequencer_codec.decode_request(data)
        with self._sequencing:
            answer = self._sequencer.ask(request)
        return sequencer_codec.encode_answer(answer)

    def _receive(self, data: bytes) -> bytes:
        return encode_answer(self._answer(data))

    def _answer(self, data: bytes) -> Answer:
        """Raises MalformedFrame, which the server counts and tells the peer."""
        try:
            request = decode_request(data)
        except VersionMismatch as error:
            return Refusal("VersionMismatch", str(error))  # in our version, whose number the peer can read
        with self._lock:
            if self._closed:
                return Refusal("Unavailable", "the registry is closing")
            try:
                return self._directory.ask(request, time.monotonic_ns() // 1_000_000)
            except Unavailable as error:  # of the disk
                return Refusal("Unavailable", str(error))
