"""Trouble: kinds of faults, ambushes at known weak places, and the phase in which all of it heals.

`trouble` names kinds and one event of a plan; `driver` carries events out; `failpoints` crash or pause a process
between two effects of a step, or with some peers told and others not; `boundaries` are ambushes where one instance of a
name ends and another begins; `healing` turns everything off and demands progress.
"""
