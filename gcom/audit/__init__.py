"""The audit: reads delivery logs (docs/DELIVERY_LOG.md) with Spark and says, with evidence, which promises held."""
