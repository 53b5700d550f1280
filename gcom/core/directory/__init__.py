"""The registry's side of groups, pure: the table of names, and the registry's vote.

- `table`: who has which name, under lease; what a newcomer may claim, and for whom it must wait. After a start, and
  after a pause of its own, it grants nothing until living groups have had time to register
  (docs/protocols/continuity.md).
- `rows`: one entry of it, and where entries are kept. `refusals`: why a request is refused, and what to do next.
  `pages`: a list that fits into answers. `askers`: the processes for which a request speaks. `copies`, `several`: a
  group at more than one registry, as those see it and as its members do.
- `witness`: one more acceptor of a view change, for ties, and last of all in a succession. It stores no message, so it
  is asked only when the value's payloads are safe elsewhere.

Nothing here reads a clock: `now_ms` comes in, and is the registry's running time, which its own pauses do not advance.
"""
