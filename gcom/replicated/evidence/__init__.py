"""Evidence that a replica writes for the audit (docs/DELIVERY_LOG.md, Applications)."""
