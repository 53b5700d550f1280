"""A scheduler of which one process works at a time: start it in several shells, and kill the one that works.

gcom-registry &
python docs/examples/scheduler.py alice
python docs/examples/scheduler.py bob
"""

import sys
from threading import Event

import gcom
import gcom.blocks

leads = Event()

with (
    gcom.connect(sys.argv[1]) as node,
    gcom.blocks.Counter(node, "runs") as runs,
    gcom.blocks.Election(node, "scheduler", on_gain=lambda _: leads.set(), on_loss=leads.clear) as election,
):
    print("ready", flush=True)
    while leads.wait():
        print(f"run {runs.add()}, token {election.token}", flush=True)
        Event().wait(0.05)  # the work
