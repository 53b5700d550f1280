"""Security of a process: its credentials, and how it comes by them (docs/protocols/security.md)."""
