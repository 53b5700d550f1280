"""What a replica writes down for the audit (docs/DELIVERY_LOG.md, Applications)."""
