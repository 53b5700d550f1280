"""The user's process, as GCom meets it: it interrupts, forks, ends, and is proof of its own life.

`entry` has what a call of the application passes on its way in and out. `process_events` tells of forks and of the
program's end. `life` is what the kernel says of this process, and `closable` the `with` block of what is to be closed.
`callbacks` refuses those that nobody can call. `uninterrupted` has locks and futures of what stands on the library.
"""
