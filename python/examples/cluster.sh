#!/usr/bin/env bash
# A sweep on a cluster: 12 points as an array of 4 tasks, one of which is killed and run again.
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
gridrig sweep script slurm sweep --slices 4 > sweep.sh

# Any Slurm will do; here it is an emulated one, which really runs what it is given.
gridrig emulator --processors 4 --slurm-bin bin --slurm-execute > emulator.log &
emulator=$!
trap 'kill $emulator' EXIT
until bin/sinfo -h > nodes.txt 2>&1; do sleep 0.1; done
# The third task may write no file of more than 4 KiB, and is ended when it does.
{
    head -n 5 sweep.sh
    echo '[ -e again ] || [ "$SLURM_ARRAY_TASK_ID" != 3 ] || ulimit -f 8'
    tail -n +6 sweep.sh
} > killed.sh
bin/sbatch --wait killed.sh || echo "a task was killed"
gridrig sweep status sweep || : > again
bin/sbatch --wait --array=3 killed.sh
gridrig sweep status sweep
gridrig sweep merge sweep
python3 - <<'PYTHON'
import pyarrow.dataset

cells = pyarrow.dataset.dataset("sweep/results", partitioning="hive").to_table()
means = cells.group_by(["exchange", "policy"]).aggregate([("delay_s_mean", "mean")])
print(means.sort_by("delay_s_mean_mean").slice(0, 5).to_pandas())
PYTHON
