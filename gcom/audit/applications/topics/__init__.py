"""Rules of topics, EO-1 to EO-6: what a store and a database hold, against what producers asked and were answered.

`history` has the records of a topic, as rules read them; `effects`, `puts`, `receipts` and `sequences` have the rules.
"""
