"""Rules of what stands on groups: replicated state, topics, sessions (DELIVERY_LOG.md, Applications).

Their records are in the same logs as those of groups, and are judged per state or topic, over all processes at once.
`rule` has the type of such a rule, `table` lists them, `judging` judges; a folder for each kind of application.
"""
