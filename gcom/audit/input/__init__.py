"""Delivery logs as columns (docs/DELIVERY_LOG.md).

A log folder holds segments, as JSON lines or as the Parquet that `gcom audit compact` wrote, here or on a file system
that Arrow reaches. `files` and `reading` list them, `catalogue` sorts them by process and number, `segments` opens one
and says what is wrong with it, `records` turns its lines into `rows`, columns of integers: one row per record, and a
record may stand for a run of many messages. `contract` says of which types records are, and why one is invalid;
`applications` does so for what stands on groups. A damaged line or file never raises: it becomes a BAD row or a note,
because a log that cannot be read makes rules UNKNOWN and must not end the audit.
"""
