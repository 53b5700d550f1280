"""The library as applications hold it: `Node`, `Group`, the events that it yields, the results of group calls.

`gcom` exports it; nothing here is imported by the rest of the runtime. A `Node` shows a `Host`, a `Group` a
`Membership`, `Results` an `OpenCall`; they check what is given, wait, and say in words why something cannot be.

- Every method may be called from any thread. It takes the host's lock, and waits on the membership's condition, which
  is notified after every step that had effects, but for deliveries alone to a direct listener.
- One thread at a time receives: a loop, `receive`, the listener's, or a worker for a direct one. It reads the queue,
  and tells the machine what has been consumed (the credit of the senders). The application's state callbacks come from
  the thread of the loop or the listener, between two events.
- Within a callback nothing is sent or called that would have to wait for what only that thread can read: it raises
  WouldBlock.

    node; group = sending + calling + inspecting + receiving, over a handle; listener; state_callbacks; events; results;
    watch; services: objects beside groups, for processes that are no members
    records: the log of a process, for what stands on groups and is audited, too
    guards: who may send or read no more, and why, and how long a caller waits
"""
