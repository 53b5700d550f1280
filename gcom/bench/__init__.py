"""The benchmarks: GCom with real processes, beside the same payload through bare Pyro5 frames."""
