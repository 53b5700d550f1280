"""Bytes to values and back. The only place where bytes from a peer, or from a disk, become values.

A decoder trusts nothing: each field is checked for type, size and range by its kind (`kinds`) before a value is built,
and every refusal is a MalformedFrame that names the field. So no other module of the core validates a peer's syntax;
what is left for machines is meaning (is this ballot lower than mine?), which needs their state.

The format is msgpack with positional fields, and begins with the protocol's version: an unequal one is refused by name
instead of being guessed at. A message is one entry in a table (`control`, `registry`, `sequencer`): its class gives the
fields, their annotations the kinds. Only what every message passes is written by hand (`frames`). What an acceptor
keeps on disk uses the same decisions, so a record survives an upgrade exactly as far as a frame does.
"""
