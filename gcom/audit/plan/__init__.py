"""The audit's plan: its stages and their inputs, independent of the engine that runs them.

Scan each chain of segments, judge each (group, instance) over the summaries, read the messages again where these leave
a rule open, then judge CONTINUITY over all instances. `run` has the stages, over rows and the few operations of an
`engine`: this process's own, or Spark's (spark/). Both give the same result, because neither decides anything. `chains`
cuts logs into pieces for tasks, `wire` packs what goes from task to task, and `cache` keeps the results of sealed
segments for `--incremental`.
"""
