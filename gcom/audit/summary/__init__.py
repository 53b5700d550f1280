"""Summaries: the content of one process's log about one (group, instance), as data.

A `ProcessSummary` is some kilobytes however long the log is, so that summaries can travel where logs cannot. Sets of
message numbers are ranges (`intervals`), which is exact; orders are fingerprints (`fingerprints`) of buckets of 65,536
places, serials or numbers, of which an equality is trusted and a difference is looked at. A section holds the events
between two views, `lineage` holds the facts that CONTINUITY compares between instances, `tally` counts a rule's cases,
and `timeline` and `history` are for people and decide nothing. Where fingerprints differ, `messages` and `dependencies`
hold the messages themselves, still as runs, and `excerpts` what of them goes to a judge. `applications` holds records
of what stands on groups. The scan fills a summary by `batch` after batch of rows, from its `position` in the log.
Source: Hübschle-Schneider and Sanders, "Communication Efficient Checking of Big Data Operations" (2018).
"""
