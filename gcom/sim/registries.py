"""The registries of a run: a process asks them all through the very conversation that the runtime has with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gcom.core.directory.several import Homes, Inquiry, Puts, converse
from gcom.core.messages.registry import Answer, Request
from gcom.sim.network import NetworkNode
from gcom.sim.registry import Registry
from gcom.values.definition import Definition
from gcom.values.names import Address


class Registries:
    """All registries, the first of the list first."""

    def __init__(self, each: Sequence[Registry]) -> None:
        self.each = tuple(each)
        self._at = {registry.address: registry for registry in each}

    @property
    def first(self) -> Registry:
        return self.each[0]

    def home_of(self, definition: Definition | None) -> Registry:
        """Return the home of a group, where its sequencer is."""
        return self._at[definition.home] if definition and definition.home else self.first

    def ask(self, node: NetworkNode, request: Request, homes: Homes, done: Callable[[Answer | None], None]) -> None:
        """Put a request to the only registry, or to those that it is for."""
        if len(self.each) == 1:
            self.first.ask(node, request, done)
            return
        talk = converse(request, tuple(self._at), homes)
        self._go_on(node, talk, next(talk), done)

    def _go_on(self, node: NetworkNode, talk: Inquiry, puts: Puts, done: Callable[[Answer | None], None]) -> None:
        answers: dict[Address, Answer | None] = {}

        def on_answer(at: Address, answer: Answer | None) -> None:
            answers[at] = answer
            # The conversation is told all answers at once, so that none can depend on which registry is nearer.
            if len(answers) < len(puts):
                return
            try:
                more = talk.send(answers)
            except StopIteration as over:
                done(over.value)
            else:
                self._go_on(node, talk, more, done)

        for at, request in puts.items():
            # `at` as a default: the loop's variable is another one when the answer comes.
            self._at[at].ask(node, request, lambda answer, at=at: on_answer(at, answer))  # type: ignore[misc]
