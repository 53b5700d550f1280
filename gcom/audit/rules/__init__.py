"""The rules of docs/DELIVERY_LOG.md over all processes of one (group, instance).

`groups` puts the summaries of a group's processes together, `judging` runs every rule over them. Three kinds of
comparison follow one another, from cheap to dear: 1. sets as ranges, exact, at a cost that depends on holes and views
and not on messages; 2. orders as fingerprints, where equal prints, with conditions on the summaries (`certificates`),
prove a rule; 3. the messages themselves, of just the buckets that differ (`detail_check`, `integrity`, `causal`).
A FAIL needs positive evidence inside what the logs cover; what they do not cover is UNKNOWN. `continuity` compares
instances of one name (decision 0005).
"""
