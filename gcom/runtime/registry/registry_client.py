"""The client of one registry's directory: requests over connections that are kept between them.

A request may be asked again when the connection breaks: the directory answers the repetition of each as it answered
the first time (gcom/core/directory/table.py), except that a `Remove` carried out twice finds no group.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event
from time import monotonic

from gcom import errors
from gcom.core.codec.registry import decode_answer, encode_request
from gcom.core.messages.registry import Answer, Refusal, Request
from gcom.runtime import pyro
from gcom.runtime.security.process import Security
from gcom.values import names
from gcom.values.names import Address

_IDLE_MAX = 2  # connections kept between requests


class RegistryClient:
    """The connections to the registry at `address`; any thread may ask, none waits for another."""

    def __init__(
        self,
        address: Address,
        timeout_s: float,
        put: Callable[[pyro.Caller, bytes, float], bytes],
        credentials: Security,
    ) -> None:
        self.address = address
        self._credentials = credentials
        self._put = put
        self._timeout_s = timeout_s
        self._idle: list[pyro.Caller] = []  # append and pop are atomic
        self._closed = Event()

    def ask(self, request: Request) -> Answer:
        """Return the directory's answer, a refusal too; raises RegistryUnavailable, VersionMismatch, Untrusted."""
        deadline = monotonic() + self._timeout_s
        try:
            data = self._call(encode_request(request), deadline)
            answer = decode_answer(data)
        # Each of these has another remedy, and the text names it: start one, mend the name, look at the network,
        # install one version, ask for an invitation.
        except pyro.ConnectionRefused as error:
            raise errors.RegistryUnavailable(f"no registry at {self.address}: {self._how_to_start()}") from error
        except pyro.HostUnknown as error:
            text = f"no registry at {self.address}: {error}: mend that name, or use the machine's IP address"
            raise errors.RegistryUnavailable(text) from error
        except (pyro.ConnectionLost, pyro.TimedOut) as error:
            raise errors.RegistryUnavailable(
                f"no answer from the registry: {error}; if it does not run, {self._how_to_start()}"
            ) from error
        except errors.VersionMismatch as error:
            raise errors.VersionMismatch(f"registry {self.address}: {error}") from error
        except errors.Untrusted as error:
            raise errors.Untrusted(f"registry {error}") from error
        except errors.PeerError as error:
            raise errors.RegistryUnavailable(f"what answers at {self.address} is no gcom-registry: {error}") from error
        if isinstance(answer, Refusal) and answer.code == "VersionMismatch":
            raise errors.VersionMismatch(f"registry {self.address}: {answer.text}")
        return answer

    def close(self) -> None:
        """Drop the connections; requests in progress go on."""
        self._closed.set()
        # Until it is empty, and not while it is not: a request may take the last one between the look and the pop.
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _call(self, data: bytes, deadline: float) -> bytes:
        try:
            # The one that was used last: it is the least likely to have been ended for being idle.
            caller = self._idle.pop()
        except IndexError:
            caller = pyro.Caller(self.address, pyro.DIRECTORY, self._credentials)
        try:
            answer = self._call_by(caller, data, deadline)
        except errors.GComError:
            caller.close()  # as it is after a failure of its own, but not after one that was put in on purpose
            raise
        self._keep(caller)
        return answer

    def _call_by(self, caller: pyro.Caller, data: bytes, deadline: float) -> bytes:
        kept = caller.connected
        try:
            # Never 0: to a socket that means not to wait at all, not even for an answer that is there.
            return self._put(caller, data, max(0.001, deadline - monotonic()))
        except (pyro.ConnectionLost, pyro.ConnectionRefused):
            if not kept:
                raise
            # The connection was kept from an earlier request, and the registry was restarted since.
            return self._put(caller, data, max(0.001, deadline - monotonic()))

    def _keep(self, caller: pyro.Caller) -> None:
        if len(self._idle) >= _IDLE_MAX:
            caller.close()
            return
        self._idle.append(caller)
        # Asked after it is put in: 1. A request ends, and this is open. 2. `close` empties the list. 3. The request
        # puts its connection into it. Nobody would ever end that one.
        if self._closed.is_set():
            self.close()

    def _how_to_start(self) -> str:
        here = " " if _is_here(self.address) else " on that machine "
        return f"start one{here}with: {start_command(self.address)}"


def start_command(address: Address) -> str:
    """Return the command that starts a registry at an address."""
    _, port = names.split_address(address)
    flags = f"--port {port}" if _is_here(address) else f"--listen {names.place_of(address)}"
    return f"gcom-registry {flags}"


def _is_here(address: Address) -> bool:
    return names.split_address(address)[0] in ("127.0.0.1", "localhost", "::1")
