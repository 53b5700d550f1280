"""A work queue: start some workers and one that asks, and kill any worker.

gcom-registry &
python docs/examples/thumbnails.py worker1
python docs/examples/thumbnails.py worker2
python docs/examples/thumbnails.py ask 100
"""

import sys
from threading import Event

import gcom
import gcom.blocks

name, *count = sys.argv[1:]
with gcom.connect(name) as node, gcom.blocks.WorkQueue(node, "thumbnails") as queue:
    if count:
        numbers = [queue.put(f"picture {place}") for place in range(int(count[0]))]
        results = [queue.result(number, timeout_s=60) for number in numbers]
        print(f"{len(set(results))} of {len(numbers)} are done", flush=True)
    else:
        print("ready", flush=True)
        for task in queue.tasks():
            Event().wait(0.01)  # the work
            task.done(f"small {task.payload}")
            print(task.payload, flush=True)
