"""When a member tells the registry what its group is, one request at a time (DESIGN 10, 11).

A leader registers each view at once, and every RENEW_MS; so does every member that is detached, and says so. Other
members do so seldom: enough that the registry knows of the group where its leader does not reach it.
"""

from __future__ import annotations

from gcom.core.requests import Answer, Entry, Register
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.view import View


class Registering:
    """The registry is soft state: a refusal or no answer changes nothing here, and is put right later."""

    def __init__(self, process: Process, definition: Definition, instance: str) -> None:
        self._process = process
        self._definition = definition
        self._instance = instance
        self._told: View | None = None
        self._told_detached = False
        self._told_ms = 0
        self._unanswered = False  # a registry that hangs must not make requests pile up

    def due(self, view: View, detached: bool, now_ms: int) -> list[Register]:
        """The request to put now, if any."""
        leads = view.leader == self._process
        every_ms = limits.RENEW_MS if leads or detached else limits.LEASE_MS // 2
        news = self._told_detached != detached or (leads and self._told != view)
        if self._unanswered or not (news or now_ms - self._told_ms >= every_ms):
            return []
        self._told, self._told_detached, self._told_ms, self._unanswered = view, detached, now_ms, True
        return [Register(self._definition, self._instance, view, self._process, detached)]

    def on_answer(self, answer: Answer | None) -> Entry | None:
        """The registry answered, or did not; returns the other instance that it holds in place of this one."""
        self._unanswered = False
        return answer if isinstance(answer, Entry) and answer.instance != self._instance else None
