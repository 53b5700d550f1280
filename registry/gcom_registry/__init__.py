"""gcom-registry: a Pyro5 name server and the directory of groups, in one process (GCom 2009 §4.1.10).

The pure machines of gcom/core (directory, witness, sequencer) behind a lock, a clock and a disk. Workers of the Pyro5
server step them and answer; one thread is the clock, which ends leases and buries groups whose members are dead. What
is promised is on the disk before it is said (`storage`: one SQLite file). The sequencer has a lock of its own, so that
giving serials waits for no lookup. Groups go on while the registry is away, and register again when it is back.

    server    the process: endpoints, clock, grace after a start        storage   what outlives it
    naming    Pyro5's name server, bounded and safe to leave running    cli       the command `gcom-registry`
    trail     who changed what, as JSON lines
    status    one look at it, and what it was asked (`requests`)        operation settings, log, figures
"""
