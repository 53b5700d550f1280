"""The operator's side of a registry: its settings, its start and end, its log, its figures.

settings   by flag, variable and file       serving   from the start to the end, as they say
options    the flags                        logs      notices and log, as text or JSON
metrics    figures for Prometheus           asking    a registry that runs, how it stands
notify     systemd, that it is ready
"""
