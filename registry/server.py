"""The registry's server: the pure directory behind one lock and a clock, beside a name server.

Nothing in it is durable. A registry that starts again knows its groups as soon as their leaders have registered.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter

from gcom.core.directory import Answer, Directory, Refusal
from gcom.core.directory_codec import decode_request, encode_answer
from gcom.errors import VersionMismatch
from gcom.shell import pyro
from gcom.values.names import Address
from registry.naming import NAME_SERVER, SafeNameServer, list_system


def mint_instance() -> str:
    """An instance id: 64 random bits, so that registries that know nothing of each other give different ones."""
    return secrets.token_hex(8)


class RegistryServer:
    """Serves once started, until closed. Port 0 takes any free one.

    Raises BadValue for an address that may not be served, Unavailable for one that is taken.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self._directory = Directory(mint_instance)
        self._lock = threading.Lock()
        name_server = SafeNameServer()
        endpoint = pyro.Endpoint(self._receive)
        self._server = pyro.Server(host, port, {NAME_SERVER: name_server, pyro.DIRECTORY: endpoint})
        self.address: Address = self._server.address
        list_system(name_server, (NAME_SERVER, pyro.DIRECTORY), self.address)

    @property
    def refused(self) -> Counter[str]:
        """How often what was refused from the network, by reason."""
        return self._server.refused

    def start(self) -> None:
        self._server.start()

    def close(self) -> None:
        """Stop at once; may be called again."""
        self._server.close()

    def _receive(self, data: bytes) -> bytes:
        return encode_answer(self._answer(data))

    def _answer(self, data: bytes) -> Answer:
        """Raises MalformedFrame, which the server counts and tells the peer."""
        try:
            request = decode_request(data)
        except VersionMismatch as error:
            return Refusal("VersionMismatch", str(error))  # in our version, whose number the peer can read
        with self._lock:
            return self._directory.ask(request, time.monotonic_ns() // 1_000_000)
