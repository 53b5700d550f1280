"""The rules of docs/DELIVERY_LOG.md, one file each, over all processes of one (group, instance).

`table` lists them, `rule` says what each has: when it is promised, how it is judged, how a violation is told and
explained. `groups` puts the summaries of a group's processes together, `judging` runs every rule over them, `judgement`
is what comes out. Three kinds of comparison follow one another, from cheap to dear: 1. sets as ranges, exact, at a cost
that depends on holes and views and not on messages; 2. orders as fingerprints, where equal prints, with conditions on
the summaries (`certificates`), prove a rule; 3. the messages themselves, bucket by bucket, where neither decides. A
FAIL needs positive evidence inside what the logs cover; what they do not cover is UNKNOWN.
"""
