"""Databases of topics: SQL on SQLite, and the discipline that a file needs.

- `transaction`  what a job may do in a transaction, whatever the database
- `database`     the contract of a database, which the commits' thread drives
- `sqlite`       a database in one file: its locks, its checkpoints, and its errors in words
- `postgres`     a database in a PostgreSQL server
- `commits`      group commit: one thread commits all jobs that wait, together
- `schema`       the tables, their version and checksum
- `topics`       topics: created, listed, deleted, read
- `appends`      producers and their appends, judged and stored in one transaction
- `subscriptions`  which messages were handed to whom, and which are acknowledged
- `handover`     one message at a time, and topics that another system hands over
- `trimming`     the oldest messages go, and their producers stay known
- `effects`      the application's own database: inbox and outbox, and what a handler may not do
- `sqlite_effects`, `postgres_effects`, `store_effects`  effects in a SQLite file, in PostgreSQL, in the store itself
"""
