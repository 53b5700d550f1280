"""The audit's plan: its stages and their inputs, independent of the engine that runs them.

Scan each chain of segments, judge each (group, instance) over the summaries, read the messages again where these leave
a rule open, then judge CONTINUITY over all instances. `stages` has each stage for one chain or one group; `local` runs
them one after the other in this process, and spark/ runs them as a job: both give the same result, because neither
decides anything. `wire` packs what goes from stage to stage, `rows` and `cache` keep what was found of sealed segments
for `--incremental`.
"""
