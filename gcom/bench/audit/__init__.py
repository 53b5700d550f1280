"""The cost of an audit: time, memory and shuffled bytes, over logs of any length that are made for it."""
