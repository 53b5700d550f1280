"""The plan as a Spark job, and logs as DataFrames; no other package knows of Spark.

Tasks get paths and read the logs themselves; only summaries are shuffled, a few kilobytes per process and group, as
msgpack, by `mapInArrow` and `applyInArrow`, so that the same job runs on a local session, a cluster and Spark Connect.
`session` starts or finds a session, `progress` reports the progress of its stages. `frames` gives the logs themselves
as DataFrames, for queries; `watching` judges logs that grow, by Structured Streaming.
"""
