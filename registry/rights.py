"""Who may do what at a registry that knows who asks: certificate holders speak for themselves and for their groups.

Whoever has a certificate may create and join; only a group's creator and administrators remove it; its members and
administrators may fork it.
"""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.directory.askers import Askers
from gcom.core.messages.registry import Answer, Create, Fork, GroupInfo, Refusal, Remove, Request
from gcom.core.messages.sequencer import SequencerRequest
from gcom.values import names
from gcom.values.identity import Identity
from registry.storage import Creators


class Rights:
    """The rule, and who created which group."""

    def __init__(self, creators: Creators) -> None:
        self._creators = creators

    def refusal(self, request: Request | SequencerRequest, who: Identity, askers: Askers) -> Refusal | None:
        """Return why an identity may not ask this, or None if it may; `askers` may, and who has a name of theirs."""
        if askers is None or any(who.speaks_for(process) for process in askers):
            return None
        if isinstance(request, Fork | Remove) and who.admins:
            return None
        if isinstance(request, Remove):
            creator = self._creators.of(request.group)
            if creator in who.members:
                return None
            text = f"{_wording(request, who)}: its creator ({creator or 'unknown'}) may, {_ADMIN}"
        else:
            text = f"{_wording(request, who)}: {_allowed(askers)} may{_besides(request)}"
        return Refusal("NotPermitted", text)

    def note_creation(self, request: Create, answer: Answer, who: Identity) -> None:
        """Remember who created a group that was not there before."""
        if isinstance(answer, GroupInfo) and who.members:
            self._creators.add(request.definition.group, min(who.members))


_ADMIN = "and an administrator (gcom-registry invite NAME --admin)"


def _besides(request: object) -> str:
    return f", {_ADMIN}" if isinstance(request, Fork) else ""


def _wording(request: object, who: Identity) -> str:
    return f"{who} may not ask this ({type(request).__name__})"


def _allowed(askers: Iterable[str]) -> str:
    return ", ".join(sorted({names.name_of(process) for process in askers})) or "nobody"
