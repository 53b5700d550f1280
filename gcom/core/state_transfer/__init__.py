"""The application's state: brought to those who join, and merged where instances become one.

- `transfer`: a joiner asks members that hold the state, in turn; a donor takes a snapshot at the view's barrier and
  sends it in chunks while messages go on (docs/protocols/state.md). Deliveries to the joiner are held until it is set,
  so its state is a donor's state at that barrier plus every message after it. `donors`: who gives it to whom.
- `reconciliation`: a process that gives way to another instance keeps its state until the application has merged it
  there, or says in an event that it could not be.

A member that awaits state is no donor, for it has nothing to give. It goes into a succession all the same, with the
messages that it holds (docs/protocols/continuity.md).
"""
