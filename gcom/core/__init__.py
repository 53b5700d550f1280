"""Group communication as pure state machines: no I/O, no clock, no threads, no randomness of their own.

A driver (gcom/runtime, gcom/sim, a test) gives `machine.GroupMachine` events and the time, and carries out the effects
that it answers with, in order. The same machine under a seeded simulator makes one seed one run.

    machine      a process's whole session: joining, member, time-wait, ended         joining/  membership/
    member       routes of a member: data, links, joiners, view changes
    streams      the data path: numbers, clock, delivery                               multicast/  ordering/
    outgoing     what the next frame to a peer carries; intake: what one brings; links: what is owed to each peer
    delivery_queue   what waits for the application; quorum: what a quorum of a view is
    hold_back    what held-back messages wait for; inspection: one look at a member; own_deliveries: its own messages

Layers never hold each other: they return values, and `machine`, `member`, `streams` and `membership.view_change` route.
Imports between the packages are acyclic, and tests/tidy/test_layers.py holds that.
"""
