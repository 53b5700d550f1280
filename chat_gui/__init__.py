"""The desktop chat; empty in this version."""
