"""The audit trail of a registry: what was changed and refused, by whom and from where, as JSON lines (operating.md)."""
