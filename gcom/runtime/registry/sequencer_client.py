"""The node's way to the registry's sequencer: one thread, one connection, one request at a time.

A request is put at most once (DESIGN 7: an OPEN put again, to a registry that has started anew, would give serials out
a second time), so a connection that breaks is an answer that did not come, and the group's machine decides whether it
asks again. What is silent is the sequencer, not a group: those who wait behind a call without an answer are told the
same at once, and not one after the other, each after a silence of its own.
"""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING

from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.messages.events import SequencerAnswered
from gcom.core.messages.sequencer import SequencerRequest
from gcom.errors import GComError
from gcom.runtime import pyro
from gcom.runtime.fault_injection import REGISTRY
from gcom.values import limits
from gcom.values.names import Address

if TYPE_CHECKING:
    from gcom.runtime.node import Node
    from gcom.runtime.session import Session


class SequencerLink:
    """Takes requests from any thread; the answers come back to the stays in the thread that runs `serve`."""

    def __init__(self, node: Node, address: Address) -> None:
        self._node = node
        self._caller = pyro.Caller(address, pyro.SEQUENCER)
        self._requests: SimpleQueue[tuple[Session, SequencerRequest] | None] = SimpleQueue()  # one a group at most

    def put(self, session: Session, request: SequencerRequest) -> None:
        self._requests.put((session, request))

    def close(self) -> None:
        """End `serve`, and a call in progress."""
        self._requests.put(None)
        self._caller.close()

    def serve(self) -> None:
        """Put requests until closed."""
        while (item := self._requests.get()) is not None:
            session, request = item
            session.handle(self._ask(request))

    def _ask(self, request: SequencerRequest) -> SequencerAnswered:
        data = sequencer_codec.encode_request(request)
        try:
            answer = self._node.call(self._caller, REGISTRY, data, limits.SEQUENCER_CALL_MS / 1000)
            return SequencerAnswered(request, sequencer_codec.decode_answer(answer))
        except pyro.ConnectionRefused:
            return SequencerAnswered(request, None, refused=True)
        except pyro.TimedOut:
            self._answer_waiting()
            return SequencerAnswered(request, None)
        except GComError:  # broken, another version, or no sequencer at all: it does not order for us
            return SequencerAnswered(request, None)

    def _answer_waiting(self) -> None:
        """Tell all whose requests wait now that there is no answer; what they ask next is put, one call for all."""
        for _ in range(self._requests.qsize()):
            item = self._requests.get()
            if item is None:
                return self._requests.put(None)  # closed: `serve` sees it next
            session, request = item
            session.handle(SequencerAnswered(request, None))
        return None
