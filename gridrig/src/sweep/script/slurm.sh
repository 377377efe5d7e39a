#!/bin/sh
#SBATCH --job-name=sweep
#SBATCH --array=1-@SLICES@
#SBATCH --cpus-per-task=@PROCESSORS@
#SBATCH --output=@DIR@/slice-%a.log
# @WHAT@. Indices stay below MaxArraySize (@ARRAY@).
# What was killed or failed is run again by the same script; only some slices: sbatch --array=3,7
# Then: @SWEEP@ status @DIR@ && @SWEEP@ merge @DIR@
exec @SWEEP@ run @DIR@ -j @PROCESSORS@ --slice "$SLURM_ARRAY_TASK_ID/@SLICES@"
