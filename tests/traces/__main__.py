"""Write what comes out of each trace (`make traces`); with --check only show what would change, and end with 1 then."""

from __future__ import annotations

import sys

from tests.traces.player import difference, traces

changed = 0
for path in traces():
    after, diff = difference(path)
    changed += bool(diff)
    print(diff or f"{path.stem}: as it was")
    if diff and "--check" not in sys.argv:
        path.write_text(after, "utf-8")
sys.exit(1 if changed and "--check" in sys.argv else 0)
