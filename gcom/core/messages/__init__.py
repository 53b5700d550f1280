"""Nouns that cross the core's border: frames between members, events in, effects out, requests to the registry.

- `frames`: one call's content. A frame brings status, control items, runs and unicasts; its reply brings only what can
  be said again, because a reply may be lost without the callee noticing (docs/protocols/link.md).
- `events` and `effects`: closed unions. A driver feeds events with the time, and carries out effects in their order
  (the contract of etcd raft's `Ready`). So runtime, simulator and tests drive one and the same machine.
- `registry`, `witness`, `sequencer`: what the registry is asked, and its answers; `orders`: a piece of a total order.

All are frozen and compare by value. Bytes are made of them in `gcom.core.codec`, and nowhere else.
"""
