"""The plan as a Spark job, and nothing else knows of Spark.

Tasks get paths and read the logs themselves; what is shuffled is summaries, a few kilobytes per process and group, as
msgpack, by `mapInArrow` and `applyInArrow`, so that the same job runs on a local session, a cluster and Spark
Connect. `session` starts or finds a session, `progress` tells how far its stages are.
"""
