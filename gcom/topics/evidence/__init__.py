"""What the audit judges of topics: `records` of what producers asked and were answered."""
