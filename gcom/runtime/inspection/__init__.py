"""Looks at a membership: snapshots and receipts for its own application, and its status for whoever may ask."""
