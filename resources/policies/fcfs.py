"""A discipline of one's own for gridrig: first come, first served.

It decides as fcfs does. docs/own-policy.md has the protocol.
"""

import json
import sys


def say(message):
    # One line each, and at once: gridrig waits for it.
    print(json.dumps(message), flush=True)


hello = json.loads(sys.stdin.readline())
say({"protocol": "gridrig.discipline.1", "columns": ["waiting"]})

for line in sys.stdin:
    current = json.loads(line)
    free = current["free"]
    start = []
    for job in current["waiting"]:
        if job["processors"] > free:
            break
        free -= job["processors"]
        start.append(job["job"])
    say({"start": start})
