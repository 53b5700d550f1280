"""A gateway to a store for programs that speak protocol Z: text messages over TCP or ZeroMQ (docs/topics.md).

- `messages`   the protocol's messages as bytes
- `answering`  what each does at a store, and its answer
- `asking`     questions to servers of the protocol: 100 ms for an answer, three retries
- `tcp`        one message per connection
- `router`     a ROUTER socket of ZeroMQ, with the extra `zmq`
- `serving`    a gateway from its start to its end
"""
