"""Plans: everything that chance decides about one run, drawn from its seed before the run begins.

A plan holds the group's definition, rates of faults per call, and timed events; so it can be printed, compared, and
aimed by hand at a place in a protocol. It never leaves a run empty: at least three kinds of fault are sure to happen.

    events      kinds of fault, moves of members, and one event     plan         the plan itself
    boundaries  long ambushes where one instance of a name ends     draw         draws a plan from a seed

Nothing here knows the simulated world: `faults` carries events out, `world` reads the rest.
"""
