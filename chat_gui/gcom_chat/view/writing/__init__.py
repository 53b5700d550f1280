"""The input area: the input, its completions, and the commands that are typed there."""
