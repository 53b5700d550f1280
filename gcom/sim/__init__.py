"""A whole group in one process, under virtual time, from one seed (FoundationDB's and TigerBeetle's way of testing).

The same machines as in the runtime, driven through crashes between any two effects, pauses, partitions, one-way cuts,
lost, late, doubled and overtaking calls, drifting clocks, registries that stop or forget. After the faulty phase all
faults are off, and the group must become live. Checkers see only what applications see.

    plan      everything drawn from the seed before a run, so that it can be printed and aimed
    world     the event loop; node, session, application, registry, network: the parts of the simulated world
    faults/   what goes wrong, when, and the healed phase after it     checks/   the rules, a file per family
    runs      runs of many seeds

One seed is one run: nothing iterates a set where it shows, and every random number comes from the seed.
"""
