"""Effects of messages, each exactly once: in the application's database, or in other topics.

- `inbox`     `run(handler, db=...)`: the application's tables, the inbox and the outbox in one transaction
- `opening`   the databases that effects may be in, by what a program gives as `db`
- `outbox`    messages of a handler on their way, under sequences that stay
- `function`  from topics to a topic of the same store, in one transaction
- `link`      from a topic to one of another store
"""
