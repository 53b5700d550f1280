"""The operator's side of a registry: its settings, its log, its start and end, its figures.

settings   by flag, variable or file, and where each is from       serving   log, signals, start and end
options    the flags                                               metrics   figures for Prometheus
"""
