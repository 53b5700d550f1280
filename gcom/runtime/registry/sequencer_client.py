"""The client of the registry's sequencer: one thread, one connection, one request at a time.

A request is put at most once (ARCHITECTURE 7: an OPEN put again, to a registry that has started anew, would give
serials out a second time), so a connection that breaks is an answer that did not come, and the group's machine decides
whether it asks again. A silence is the sequencer's, not a group's: requests that wait behind a call without an answer
fail with it at once, and not one after the other, each after a timeout of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.messages.events import SequencerAnswered
from gcom.core.messages.sequencer import SequencerRequest
from gcom.errors import GComError
from gcom.runtime import pyro
from gcom.runtime.security.process import Security
from gcom.values import limits
from gcom.values.detection import LAN, Detection
from gcom.values.names import Address

Told = Callable[[SequencerAnswered], None]  # the `handle` of the session that asked


class SequencerClient:
    """The queue of requests, from any thread; the answers come in the thread that runs `serve`."""

    def __init__(
        self,
        address: Address,
        put: Callable[[pyro.Caller, bytes, float], bytes] = pyro.Caller.call,
        credentials: Security | None = None,
    ) -> None:
        """Have calls made by `put`, in place of `Caller.call`."""
        self._put = put
        self._caller = pyro.Caller(address, pyro.SEQUENCER, credentials)
        self._requests: SimpleQueue[tuple[Told, SequencerRequest, int] | None] = SimpleQueue()  # one per group at most

    def ask(self, request: SequencerRequest, told: Told, detection: Detection = LAN) -> None:
        """Queue a request; `told` is called with the answer, or with the lack of one."""
        self._requests.put((told, request, detection.extended_ms(limits.SEQUENCER_CALL_MS)))

    def close(self) -> None:
        """End `serve`, and a call in progress."""
        self._requests.put(None)
        self._caller.close()

    def serve(self) -> None:
        """Put requests until closed."""
        while (item := self._requests.get()) is not None:
            told, request, patience_ms = item
            told(self._answer(request, patience_ms))

    def _answer(self, request: SequencerRequest, patience_ms: int) -> SequencerAnswered:
        data = sequencer_codec.encode_request(request)
        try:
            answer = self._put(self._caller, data, patience_ms / 1000)
            return SequencerAnswered(request, sequencer_codec.decode_answer(answer))
        except pyro.ConnectionRefused:
            return SequencerAnswered(request, None, refused=True)
        except pyro.TimedOut:
            self._answer_waiting()
            return SequencerAnswered(request, None)
        except GComError:  # broken, another version, or no sequencer at all: it does not order for us
            return SequencerAnswered(request, None)

    def _answer_waiting(self) -> None:
        """Fail all requests that wait now, after one silence for all; later ones go to the sequencer again."""
        for _ in range(self._requests.qsize()):
            item = self._requests.get()
            if item is None:
                return self._requests.put(None)  # closed: `serve` sees it next
            told, request, _ = item
            told(SequencerAnswered(request, None))
        return None
