"""Stores at servers: clients that have no file and no database of their own.

- `codec`       values as they travel, checked against the types that the receiving function has
- `operations`  what a client may have carried out, by name
- `callers`     a client's calls are carried out once, whatever is sent again, by any server of the database
- `parts`       requests and answers of any size, in parts
- `requests`    requests and answers, and errors as they travel
- `service`     the object that a server serves
- `line`        connections to servers
- `client`      the way to a store at a server: what `topics.open("gcom://…")` has
- `catalog`     which server owns which topic: a replicated state
- `fence`       the same in the database, checked in the transaction that writes
- `routing`     the way from any server, or a proxy, to the owner of a topic
- `serving`     a server or a proxy, from its start to its end
"""
