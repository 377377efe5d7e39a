#!/usr/bin/env bash
# A sweep in slices, as tasks of an array on a cluster run them: 12 points, 4 tasks.
set -euo pipefail

scenario=$(python3 -c 'import gridrig; print(gridrig.resource("resources/scenarios/two-sites.toml"))')
cat > study.toml <<STUDY
scenario = "$scenario"

[grid]
"domain.*.broker.exchange" = ["5s", "15s", "60s"]
"workload.scale.arrival" = [60, 200]
"run.tie" = ["rotate", "first"]

[[list]]
"workload.window.length" = "12h"
"run.bounds" = false
STUDY
gridrig sweep plan study.toml --out sweep
gridrig sweep script slurm sweep --slices 4 > sweep.sh     # sbatch sweep.sh

# What sbatch would do; the tasks may run anywhere, at the same time.
for task in 1 2 3 4; do
    SLURM_ARRAY_TASK_ID=$task gridrig sweep run sweep --slices 4 &
done
wait
gridrig sweep status sweep
gridrig sweep merge sweep
python3 - <<'PYTHON'
import pyarrow.dataset

cells = pyarrow.dataset.dataset("sweep/results", partitioning="hive").to_table()
means = cells.group_by(["exchange", "policy"]).aggregate([("delay_s_mean", "mean")])
print(means.sort_by("delay_s_mean_mean").slice(0, 5).to_pandas())
PYTHON
