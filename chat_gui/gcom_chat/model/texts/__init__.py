"""Texts: rows to take elsewhere, and the words of the reader's language."""
