"""Faults: the driver of a plan's events, and the phase in which all of it heals.

`driver` carries out events when their time comes, each on the first process that it can happen to. `failpoints` crash
or pause a process between two effects of a step, or with some peers told and others not: the places where a protocol
is wrong first. `stranger` lies to the registries. `healing` ends every fault and demands progress: one view, all
messages, one state.

They reach processes through `population`, which the world is; so no fault knows how the world is made.
"""
