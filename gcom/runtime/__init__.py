"""The runtime: real threads, clocks, sockets and files around the pure machines of gcom/core.

A process has one `host`, which has one lock. Whatever happens, a frame, an answer of the registry, a deadline, a call
of the application, takes the same rhythm: lock, step the machine, carry out its effects, unlock, act. To carry out an
effect is to put something into a queue or to wake a thread; to act is to call a peer or the registry, or a callback.

- Nothing waits for a peer, the registry or a callback while it holds the lock; only a delivery log's full buffer waits
  for the disk. So a step never blocks for long, and a callback may send.
- Callbacks for events and state run in the thread that receives, the application's own or its listener's, or for a
  direct listener in a worker of the server, beside which a spare one serves where that takes long; the handler
  of group calls runs in threads of `request_handlers`. They may wait, and hold up nobody but their group's reader.
- A link keeps several frames in flight; one thread reads all answers, and a link that dials has one for that time.
- A thread that meets a defect of GCom ends every session here and raises on: half a process is worse than none.

    api/         what applications hold: Node, Group, events, results, services  (uses all below)
    host         the server, the lock, the threads, the clock; session_table, logs
    membership   from join to leave: the sessions one after the other, the queue to the application
    links/       one connection per peer address     session   one machine, and what is kept for it
    group_calls, request_handlers, awaited_state, queue_items, traces   what a session uses
    user_process/   what the user's process does to GCom: calls on their way in, forks, its end; proof of its life
    joining      the waits of a join                    faults   of calls, as a value; fault_injection: who has them
    waiting      waits, each written once: for threads, and for the event loops of gcom/aio
    inspection/  snapshots, receipts, and what `gcom status` asks
    registry/    clients of the registry             pyro/     all that knows Pyro5's wire; security/: credentials

A lower part names what it needs of a higher one as a small Protocol beside its class, so imports go one way. `gcom` is
the library, and `gcom.aio` is built on `api`, `host`, `membership`, `session` and what a session uses. Programs of the
project use also `registry`, `user_process`, `fault_injection`; the registry itself `pyro`.
"""
