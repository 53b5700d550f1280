"""Explanations of a verdict for people: incidents with evidence, causes, advice, and the smallest logs that show them.

One damage breaks several rules at several processes. `incidents` puts violations that share a message, a view or a hole
under the one nearest to the cause, with a sentence for each. `lookup` finds records again, from no more files than it
needs, `evidence` is what stands around a violation, and `witness` cuts logs down to what still breaks the rule, in the
manner of delta debugging (Zeller and Hildebrandt 2002). `plain` says what a violation means for an application,
`advice` why something is UNKNOWN. `applications` does the same for what stands on groups. `result` is all of it, and
what `--json` writes; `tables` are the same as columns.
"""
