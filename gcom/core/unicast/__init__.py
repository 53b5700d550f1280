"""Messages to single members, and group calls on them.

- `channel`: a reliable FIFO stream per pair of members, exactly once, across view changes; with its own window, so that
  one member that does not read holds up nobody else (docs/protocols/unicast.md).
- `rpc`: calls that wait for answers: who was asked, and who has not answered (Derecho's QueryResults).
- `endpoint`: composes both for one member, and ends what a departed member can no longer answer.

A unicast has no order relative to multicasts: GCom promises only FIFO per pair.
"""
