"""Texts: rows to take elsewhere, names that look like another, and the words of the reader's language."""
