"""When a leader tells the registry what its group is: after each view and every RENEW_MS, one request at a time."""

from __future__ import annotations

from gcom.core.requests import Answer, Entry, Register
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.view import View


class Registering:
    """The registry is soft state (DESIGN 11): a refusal or no answer changes nothing here, and is put right later."""

    def __init__(self, process: Process, definition: Definition, instance: str) -> None:
        self._process = process
        self._definition = definition
        self._instance = instance
        self._told: View | None = None
        self._told_ms = 0
        self._unanswered = False  # a registry that hangs must not make requests pile up

    def due(self, view: View, now_ms: int) -> list[Register]:
        """The request to put now, if any."""
        fresh = self._told == view and now_ms - self._told_ms < limits.RENEW_MS
        if view.leader != self._process or self._unanswered or fresh:
            return []
        self._told, self._told_ms, self._unanswered = view, now_ms, True
        return [Register(self._definition, self._instance, view)]

    def on_answer(self, answer: Answer | None) -> Entry | None:
        """The registry answered, or did not; returns the other instance that it holds in place of this one."""
        self._unanswered = False
        return answer if isinstance(answer, Entry) and answer.instance != self._instance else None
