"""The benchmarks: `settings.py` declares them, `frame.py` is what they share, and each folder is what one measures."""
