"""The two remote methods of a branch, as the seed of the bank has them: `MsgDelivery` and `ClockUpdate`.

Each takes a text and returns one, both JSON:

    MsgDelivery  {"id": 1, "interface": "deposit", "money": 400, "write_set": 0}
              →  {"id": 1, "interface": "deposit", "write_set": 0, "result": "success", "balance": 400}
    ClockUpdate  {"id": 1}  →  {"id": 1, "write_set": 1}

A customer numbers its events 0, 1, 2, ..., queries too, which are deposits of nothing. A branch holds an event back
until it has those before it, and carries each out once, though it is sent again here or at another branch. Branches
tell each other nothing by these methods: the replicated state does that. So `ClockUpdate` only answers how far a
customer is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any

import gcom
from gcom.bank.accounts import Bank
from gcom.bank.customers import perform
from gcom.bank.orders import no_number, order_of, whole
from gcom.errors import BadValue, GComError, GComTimeout
from gcom.replicated import Refused
from gcom.runtime.api.services import NodeService, expose
from gcom.sessions import ClientSession, SessionForked, SessionStore, SessionToken, SessionUnknown
from gcom.sessions.tokens import INDEX_MAX
from gcom.values.rights import Right

BRANCH = "bank.branch"  # the object at the branch's port
HOLD_S = 10.0  # an event waits so long for those before it
TEXT_MAX = 4_096
ENROLMENT = 1  # the first write of a customer's session enters it, and event 0 is the second


def _request_of(text: str | bytes) -> dict[str, Any]:
    if len(text) > TEXT_MAX:
        raise BadValue(f"a request has at most {TEXT_MAX} characters; got {len(text)}")
    try:
        found = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadValue):
            raise
        raise BadValue(f"a request is a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise BadValue(f"a request is a JSON object; got {text!r:.60}")
    return found


class BranchServer:
    """The remote object of one branch."""

    def __init__(self, node: gcom.Node, store: SessionStore[Bank], on_stop: Callable[[], object]) -> None:
        self._store = store
        self._on_stop = on_stop
        self._own = store.session(())  # for a look at the customers
        self._service = NodeService(node, BRANCH, self)

    @expose  # type: ignore[untyped-decorator]
    def MsgDelivery(self, request: str | bytes) -> str | bytes:
        """Carry out one event of a customer."""
        return self._answered(request, Right.SEND, self._carry_out)

    @expose  # type: ignore[untyped-decorator]
    def ClockUpdate(self, request: str | bytes) -> str | bytes:
        """Tell how many events of a customer are done; its next one has this number."""
        return self._answered(request, Right.JOIN, self._tell_clock)

    @expose  # type: ignore[untyped-decorator]
    def Stop(self, request: str | bytes) -> str | bytes:
        """End this branch."""
        return self._answered(request, Right.SEND, self._stop)

    def close(self) -> None:
        """Serve no more."""
        self._service.close()
        self._own.close()

    def _answered(
        self, request: str | bytes, right: Right, act: Callable[[dict[str, Any]], dict[str, object]]
    ) -> str | bytes:
        try:
            self._service.raise_if_not_permitted(right, self._store.replicas.group.name)
            answer = act(_request_of(request))
        except GComError as error:
            answer = {"result": "error", "error": type(error).__name__, "text": str(error)}
        text = json.dumps(answer)
        return text.encode() if isinstance(request, bytes) else text

    def _carry_out(self, asked: dict[str, Any]) -> dict[str, object]:
        order = order_of({"dest": 0, **asked})
        if order.interface == "query":
            order = replace(order, interface="deposit")  # of nothing: an event among the others
        customer, write_set = whole(asked, "id"), whole(asked, "write_set")
        if not 0 <= write_set < INDEX_MAX:
            raise BadValue(f'"write_set" counts from 0; got {write_set}')
        told = {"id": customer, "interface": asked["interface"], "write_set": write_set}
        session = self._session_of(customer, write_set)
        try:
            return {**told, "result": "success", "balance": perform(session.state, customer, order)}
        except (SessionForked, SessionUnknown):
            raise
        except Refused as refusal:
            return {**told, "result": "fail", "text": str(refusal)}

    def _session_of(self, customer: int, write_set: int) -> ClientSession[Bank]:
        """Return the customer's session, about to carry out an event of that number."""
        token = SessionToken.decode(self._own.state.token_of(customer) or self._enrolled(customer))
        ready = replace(token, written=write_set + ENROLMENT)
        return self._store.session(token=ready.encode(), timeout_s=HOLD_S)

    def _enrolled(self, customer: int) -> str:
        """Open a session for a customer; return its token, or that of another branch, which was first."""
        session = self._store.session({"MW"}, timeout_s=HOLD_S)
        own = session.token
        first = session.state.enroll(customer, own)
        if first != own:
            session.close()
        return first

    def _tell_clock(self, asked: dict[str, Any]) -> dict[str, object]:
        customer = whole(asked, "id")
        try:
            self._store.replicas.barrier().result(HOLD_S)  # else this branch may not have what others have done
        except FutureTimeout:
            raise GComTimeout(f"this branch hears no majority of the others, after {HOLD_S:g} s") from None
        token = self._own.state.token_of(customer)
        done = self._store.written(token) - ENROLMENT if token else 0
        return {"id": customer, "write_set": done}

    def _stop(self, _: dict[str, Any]) -> dict[str, object]:
        self._on_stop()
        return {"result": "success"}
