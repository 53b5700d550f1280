"""The window: Qt widgets over the model. Nothing here waits for a network, a disk or another thread.

Colours come from the palette, so that light, dark and high contrast are the system's; no colour says anything alone.
"""
