"""Evidence of topics for the audit: `records` of the questions of producers, and of the answers."""
