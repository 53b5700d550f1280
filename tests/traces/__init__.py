"""Golden text traces: what the members of a group say to each other, as files that people read (etcd raft's testdata).

A file `NAME.txt` opens with comments that say what it shows. A line without indent is a command to a hand-driven
network (tests/core/network.py); the indented lines below it are what follows from it. So a file is both the script and
the result: it is played, and must come out as it stands. `make traces` writes what comes out; review it as a diff.

- `lines`: how a control item, an effect, a request to the registry reads.
- `tracer`: which of them are shown, and when; nothing is shown that says nothing new.
- `player`: the commands.
"""
