"""A policy of one's own beside those of gridrig, and the results in pandas and polars.

Wants pandas and polars; gridrig itself brings pyarrow.
"""

import polars

import gridrig


@gridrig.policy(columns=["queued_30s"])
def fewest(view, request):
    """The fewest queued jobs, the first of equals: queue-length(tie=first)."""
    return min(request.candidates, key=lambda it: view["queued_30s"][it])


@gridrig.policy(name="fewest-sent", columns=["queued"])
class FewestSent:
    """The same, but what was sent there and has not been heard of counts as queued."""

    def __init__(self, hello: gridrig.Hello) -> None:
        self.sent = [0] * len(hello.candidates)

    def __call__(self, view: gridrig.View, request: gridrig.Request) -> int:
        best = min(request.candidates, key=lambda it: view["queued"][it] + self.sent[it])
        self.sent[best] += 1
        return best


def main() -> None:
    result = gridrig.run(
        "two-sites",
        policies=["queue-length(tie=first)", fewest, FewestSent],
        set={"workload.scale.arrival": 200, "workload.window.length": "3d", "run.bounds": False},
    )
    print(result.text)

    # pandas: how often the own cluster was chosen.
    jobs = result.jobs.to_pandas()
    own = jobs[jobs["state"] == "completed"].groupby("policy")["exec_domain"]
    print(own.value_counts(normalize=True).unstack())

    # polars: the wait of wide and narrow jobs.
    jobs = polars.from_arrow(result.jobs.select(["policy", "processors", "wait_s"]))
    wide = (polars.col("processors") > 16).alias("wide")
    print(jobs.group_by("policy", wide).agg(polars.col("wait_s").mean()).sort("policy", "wide"))

    # Arrow: what gridrig compare says.
    delay = result.compare(baseline="queue-length(tie=first)").to_pylist()
    for row in delay:
        if row["metric"] == "delay_s" and row["statistic"] == "mean":
            print(row["policy"], row["value"], row["ratio"])


if __name__ == "__main__":
    main()
