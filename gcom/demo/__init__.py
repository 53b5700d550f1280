"""All of it at work on real text: processes that talk in a group, and a check of every delivery."""
