"""A pass over a process's log, which fills its summaries.

`chain` opens the segments of a chain one after the other, `scanner` finds breaks in the sequence of positions and sorts
rows by group, `batches` judges the rows of one group between two events that change more than counts (a view, the end
of a session, a gap, an opening) as columns. Violations that a process commits by itself are found here: its own
numbers, NO_DUPLICATION, FIFO, CLOCK, SERIAL_CONTIGUOUS, and its records about their views. A chain that does not begin
at the log's beginning starts from the `state` in its first opening, so that chains are scanned in parallel; the caller
compares each chain's end with the next one's beginning, so the state is used and not trusted.
"""
