"""The audit: reads delivery logs (docs/DELIVERY_LOG.md) and says, with evidence, which promises held."""
