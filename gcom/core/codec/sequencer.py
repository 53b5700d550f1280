"""The tables of requests to the registry's sequencer, and of its answers."""

from __future__ import annotations

from gcom.core.codec.frames import ORDERS
from gcom.core.codec.kinds import COUNTS, record
from gcom.core.codec.schema import Messages, alone
from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.values import limits

_BOUNDS = {
    "max_str_len": 128,
    "max_bin_len": 0,
    "max_array_len": limits.ORDERS_MAX,  # as many as an answer may have spans
    "max_map_len": limits.MEMBERS_MAX,
    "max_ext_len": 0,
}
_REQUESTS: Messages[SequencerRequest] = Messages(
    "request to a sequencer",
    _BOUNDS,
    {"open": record(Open, settled=COUNTS), "want": record(Want), "close": record(Close)},
)
_ANSWERS: Messages[SequencerAnswer] = Messages(
    "answer of a sequencer",
    _BOUNDS,
    {"orders": alone(ORDERS), "opened": record(Opened), "unknown": record(Unknown)},
)
encode_request, decode_request = _REQUESTS.encode, _REQUESTS.decode
encode_answer, decode_answer = _ANSWERS.encode, _ANSWERS.decode
