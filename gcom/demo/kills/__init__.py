"""The demonstration of topics: a producer or a consumer is killed many times, and each line is there once.

- `killing`  starts and kills the process, and counts what is lost or doubled
- `worker`   the process that is killed
"""
