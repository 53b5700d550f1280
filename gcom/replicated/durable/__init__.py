"""Durable replicated state: a log on the disks of configured replicas, answered once a majority of them has synced it.

- `agreement` is the pure part: entries, acknowledgements, and the round that follows any start (HELLO, terms).
- `rounds` has the messages of a round, and what its HELLOs decide.
- `entries` has how an entry is applied, and the configuration behind it.
- `storage` is one replica's folder, in SQLite; `writer` the thread that writes to it, many entries per sync.
"""
