"""A whole group in one process, under virtual time, from one seed (FoundationDB's and TigerBeetle's way of testing).

The same machines as in the runtime, driven through crashes between any two effects, pauses, partitions, one-way cuts,
lost, late, doubled and overtaking calls, drifting clocks, registries that stop or forget. After the faulty phase all
faults are off, and the group must become live. Checkers see only what applications see.

    plan/        everything drawn from the seed before a run, so that it can be printed and aimed
    checks/      the rules, a file per family; `checkers` puts together those that a definition promises
    simulation   virtual time, the event loop, counts and digest; every part below holds it
    network, registry, unicasts, application, session, node
                 the parts of the simulated world, each importing only parts named before it; what it needs of a later
                 one it names as a Protocol beside itself
    faults/      the driver of a plan's events, and the healed phase after them
    world        composes all of it, and knows who has which name; `runs` runs many seeds

One seed is one run: nothing iterates a set where it shows, and every random number comes from the seed.
"""
