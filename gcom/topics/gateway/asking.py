"""Questions to other systems' servers: an answer comes within 100 ms, or they are asked again, three times at most."""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Event
from time import monotonic

from gcom.errors import MalformedFrame, Unavailable
from gcom.topics.gateway.messages import ZRequest, ZStatus, bytes_max, decode, encode

ANSWER_S = 0.1
RETRIES = 3  # behind the first try

# Returns the answer to bytes within seconds; raises OSError, of which TimeoutError is one.
ZExchange = Callable[[bytes, float], bytes]


def ask(exchange: ZExchange, question: ZRequest, closing: Event, answer_s: float = ANSWER_S) -> ZStatus:
    """Return the STATUS that answers a question. Raises Unavailable, MalformedFrame for another answer."""
    data, why = encode(question), OSError("closed")
    for _ in range(1 + RETRIES):
        began = monotonic()
        try:
            answer = decode(exchange(data, answer_s))
        except OSError as error:
            why = error
            if closing.wait(max(0.0, began + answer_s - monotonic())):  # refused at once, it is not asked faster
                break
            continue
        if isinstance(answer, ZStatus):
            return answer
        raise MalformedFrame("expected a STATUS, got another message")
    raise Unavailable(f"no answer in {1 + RETRIES} tries of {answer_s * 1000:g} ms ({why})")


def tcp_exchange(host: str, port: int) -> ZExchange:
    """Return the exchange of one question per connection, each side's bytes ending where it closes its half."""

    def exchange(data: bytes, timeout_s: float) -> bytes:
        deadline = monotonic() + timeout_s
        with socket.create_connection((host, port), timeout_s) as line:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            got = b""
            while True:
                line.settimeout(max(0.001, deadline - monotonic()))
                part = line.recv(64 * 1024)
                if not part:
                    return got
                got += part
                if len(got) > bytes_max(got):
                    return got  # which is refused as too long

    return exchange
