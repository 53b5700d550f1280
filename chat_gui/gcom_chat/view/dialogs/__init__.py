"""Dialogs: connect, create, join, preferences, shortcuts, the quick switcher, and what to do when something failed."""
