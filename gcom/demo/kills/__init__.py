"""The demonstration of topics: a producer, a consumer or an owner is killed many times, and each line is there once.

- `killing`  starts and kills the process, and counts what is lost or doubled
- `servers`  the servers of topics, of which owners are killed
- `owners`   kills the owner of the topics, while a producer and a consumer work
- `racing`   many new topics at once, through several proxies
- `worker`   the process that is killed
"""
