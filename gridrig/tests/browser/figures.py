"""Means over the replications of each policy's delay figures, over the jobs
that completed under every policy of the replication that competes (a bound has
no say, and shows those of them that it completed): by DuckDB from the tables.

    python figures.py STUDY_DIR > figures.json
"""

import glob
import json
import os
import sys

import duckdb

BOUNDS = ("local-only", "full-information", "pooled")
study = sys.argv[1]
policies = sorted(name for name in os.listdir(study) if os.path.isdir(os.path.join(study, name)))
replications = sorted(os.path.basename(path) for path in glob.glob(os.path.join(study, policies[0], "r*")))
figures = {policy: [] for policy in policies}
for replication in replications:
    tables = {policy: os.path.join(study, policy, replication, "jobs.parquet") for policy in policies}
    completed = "SELECT job_id FROM '{}' WHERE state = 'completed'".format
    common = " INTERSECT ".join(
        completed(path) for policy, path in tables.items() if policy not in BOUNDS
    )
    for policy, path in tables.items():
        figures[policy].append(
            duckdb.sql(
                f"""SELECT avg(delay_s), quantile_cont(delay_s, 0.5), quantile_cont(delay_s, 0.95),
                           quantile_cont(delay_s, 0.99)
                    FROM '{path}' WHERE job_id IN ({common} INTERSECT {completed(path)})"""
            ).fetchall()[0]
        )
mean = lambda values: sum(values) / len(values)
print(json.dumps({
    policy: dict(zip(["mean", "p50", "p95", "p99"], [mean(column) for column in zip(*rows)]))
    for policy, rows in figures.items()
}))
