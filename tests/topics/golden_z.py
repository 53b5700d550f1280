"""The bytes of every message of protocol Z, each with its meaning. §3.1 of its document names the fields.

Message ids: this gateway's are TOPIC.OFFSET by numbers. The first topic of a new store has the number 1.
"""

from __future__ import annotations

from gcom.topics.gateway.messages import (
    ZGet,
    ZMerge,
    ZPeriodic,
    ZPut,
    ZRequest,
    ZStatus,
    ZSubscribe,
    ZTransfer,
    ZUnsubscribe,
)

GOLDEN: dict[str, tuple[bytes, ZRequest | ZStatus]] = {
    "3.1.1 subscribe": (b"SUBSCRIBE alice news\r\n\r\n", ZSubscribe("alice", "news")),
    "3.1.2 unsubscribe": (b"UNSUBSCRIBE alice news\r\n\r\n", ZUnsubscribe("alice", "news")),
    "3.1.3 get, the first time": (b"GET alice news -1\r\n\r\n", ZGet("alice", "news")),
    "3.1.3 get, behind a message": (b"GET alice news 1.0\r\n\r\n", ZGet("alice", "news", "1.0")),
    "3.1.4 put": (b"PUT bob news 0\r\n\r\nhello", ZPut("bob", "news", 0, b"hello")),
    "3.1.4 put, of nothing": (b"PUT bob news 1\r\n\r\n", ZPut("bob", "news", 1, b"")),
    "3.1.4 put, of an end and of bytes": (
        b"PUT bob a*b/c 7\r\n\r\n\r\n\r\n*/\x00\xff",
        ZPut("bob", "a*b/c", 7, b"\r\n\r\n*/\x00\xff"),
    ),
    "3.1.4 put, names of other letters": (
        b"PUT \xc3\xa9va caf\xc3\xa9 0\r\n\r\nx",
        ZPut("éva", "café", 0, b"x"),
    ),
    "3.1.5 periodic": (b"PERIODIC 127.0.0.1:5002\r\n\r\nnews sports", ZPeriodic("127.0.0.1:5002", ("news", "sports"))),
    "3.1.5 periodic, no topics": (b"PERIODIC 127.0.0.1:5002\r\n\r\n", ZPeriodic("127.0.0.1:5002")),
    "3.1.6 merge": (
        b"MERGE gcom news 127.0.0.1:5001\r\n\r\n",
        ZMerge("gcom", "news", "127.0.0.1:5001"),
    ),
    "3.1.7 transfer": (
        b"TRANSFER 127.0.0.1:5002 news\r\n\r\nalice 3 4\r\nbob\r\n*3\r\na/sb//c\r\n*4\r\n\r\n\r\n",
        ZTransfer("127.0.0.1:5002", "news", (("alice", ("3", "4")), ("bob", ())), (("3", b"a*b/c"), ("4", b"\r\n"))),
    ),
    "3.1.7 transfer, of nothing": (b"TRANSFER 127.0.0.1:5002 news\r\n\r\n", ZTransfer("127.0.0.1:5002", "news")),
    "3.1.8 status, done": (b"STATUS gcom OK\r\n\r\n", ZStatus("gcom", "OK")),
    "3.1.8 status, a message": (b"STATUS gcom OK 1.0\r\n\r\nhello", ZStatus("gcom", "OK", "1.0", b"hello")),
    "3.1.8 status, nothing to get": (b"STATUS gcom NO_MESSAGES\r\n\r\n", ZStatus("gcom", "NO_MESSAGES")),
    "3.1.8 status, an error": (
        b"STATUS gcom NOT_SUBSCRIBED\r\n\r\n'eve' has not subscribed to topic 'news'",
        ZStatus("gcom", "NOT_SUBSCRIBED", "", b"'eve' has not subscribed to topic 'news'"),
    ),
}

# A session of clients, with each answer. What is sent again in it stands for an answer that was lost.
SESSION: tuple[tuple[bytes, bytes], ...] = (
    (b"GET alice news -1\r\n\r\n", b"STATUS gcom NOT_SUBSCRIBED\r\n\r\n"),
    (b"SUBSCRIBE alice news\r\n\r\n", b"STATUS gcom OK\r\n\r\n"),
    (b"SUBSCRIBE alice news\r\n\r\n", b"STATUS gcom OK\r\n\r\n"),
    (b"GET alice news -1\r\n\r\n", b"STATUS gcom NO_MESSAGES\r\n\r\n"),
    (b"PUT bob news 0\r\n\r\nfirst", b"STATUS gcom OK\r\n\r\n"),
    (b"PUT bob news 0\r\n\r\nfirst", b"STATUS gcom OK\r\n\r\n"),
    (b"SUBSCRIBE carol news\r\n\r\n", b"STATUS gcom OK\r\n\r\n"),
    (b"PUT bob news 1\r\n\r\n\r\n\r\n* and /\x00\xff", b"STATUS gcom OK\r\n\r\n"),
    (b"GET alice news -1\r\n\r\n", b"STATUS gcom OK 1.0\r\n\r\nfirst"),
    (b"GET alice news -1\r\n\r\n", b"STATUS gcom OK 1.0\r\n\r\nfirst"),
    (b"GET alice news 1.0\r\n\r\n", b"STATUS gcom OK 1.1\r\n\r\n\r\n\r\n* and /\x00\xff"),
    (b"GET alice news 1.0\r\n\r\n", b"STATUS gcom OK 1.1\r\n\r\n\r\n\r\n* and /\x00\xff"),
    (b"GET alice news 1.1\r\n\r\n", b"STATUS gcom NO_MESSAGES\r\n\r\n"),
    (b"GET alice news 1.1\r\n\r\n", b"STATUS gcom NO_MESSAGES\r\n\r\n"),
    (b"GET carol news -1\r\n\r\n", b"STATUS gcom OK 1.1\r\n\r\n\r\n\r\n* and /\x00\xff"),
    (b"PUT alice news 0\r\n\r\nof all", b"STATUS gcom OK\r\n\r\n"),  # every client may do everything
    (b"GET alice news 1.1\r\n\r\n", b"STATUS gcom OK 1.2\r\n\r\nof all"),
    (b"UNSUBSCRIBE carol news\r\n\r\n", b"STATUS gcom OK\r\n\r\n"),
    (b"UNSUBSCRIBE carol news\r\n\r\n", b"STATUS gcom OK\r\n\r\n"),
    (b"GET carol news 1.1\r\n\r\n", b"STATUS gcom NOT_SUBSCRIBED\r\n\r\n"),
    (b"SUBSCRIBE carol news\r\n\r\n", b"STATUS gcom OK\r\n\r\n"),
    (b"GET carol news 1.1\r\n\r\n", b"STATUS gcom NO_MESSAGES\r\n\r\n"),  # what was sent before is not received
    (b"PUT bob news 1\r\n\r\nanother body", b"STATUS gcom INTERNAL_ERROR\r\n\r\n"),  # a counter is used once
    (b"PUT bob news 2\r\n\r\nlast", b"STATUS gcom OK\r\n\r\n"),
    (b"GET carol news 1.1\r\n\r\n", b"STATUS gcom OK 1.3\r\n\r\nlast"),
)
