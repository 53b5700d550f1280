"""Delivery logs as tables with a row per message, for queries that are not the audit's own.

A record stands for a run of messages, names are in the opening of a segment, times are relative to it, and a clock
tells only what changed. `messages` undoes all of that, segment by segment and as columns, in Arrow batches of bounded
size.
"""
