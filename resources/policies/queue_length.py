"""A forwarding policy of one's own for gridrig: the fewest queued jobs.

It decides as queue-length(tie=first) does. docs/own-policy.md has the protocol.
"""

import json
import sys


def say(message):
    # One line each, and at once: gridrig waits for it.
    print(json.dumps(message), flush=True)


hello = json.loads(sys.stdin.readline())
print(f"asked by {hello['domain']}, seed {hello['seed']}", file=sys.stderr)
say({"protocol": "gridrig.policy.1", "columns": ["queued_30s"]})

for line in sys.stdin:
    cycle = json.loads(line)
    queued = cycle["candidates"]["queued_30s"]
    answers = []
    for request in cycle["requests"]:
        # min() takes the first of equals.
        answers.append(min(request["candidates"], key=lambda it: queued[it]))
    say({"answers": answers})
