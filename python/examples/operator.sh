#!/usr/bin/env bash
# Should two clusters share their load? What Slurm has accounted on each is all that is needed.
set -euo pipefail

# On a cluster: SLURM_TIME_FORMAT=%s sacct -a -X -D -P --noconvert -S ... -E ... -o ... > alpha.txt
# (gridrig trace import --help has the columns). Here two dumps are made up: jobs of 10 minutes
# every 100 s on alpha, jobs of a minute every 5 minutes on beta.
dump() { # CLUSTER EVERY RUN_TIME PROCESSORS
    echo 'JobIDRaw|Cluster|User|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|ReqCPUS|AllocCPUS|NNodes'
    for job in $(seq 60); do
        at=$((1704110400 + job * $2))
        echo "$job|$1|ada|$at|$at|$at|$((at + $3))|$3|20|COMPLETED|$4|$4|1"
        echo "$job.batch|$1||$at|$at|$at|$((at + $3))|$3||COMPLETED|$4|$4|1"
    done
    echo "61|$1|bob|$at|$at|None|$at|0|Partition_Limit|CANCELLED by 1001|2|0|1"
}
dump alpha 100 600 3 > alpha.txt
dump beta 300 60 1 > beta.txt

gridrig trace import alpha.txt --map sacct --processors 8 -o alpha.swf
gridrig trace import beta.txt --map sacct --processors 16 -o beta.swf
gridrig init federation.toml --from alpha.swf --from beta.swf
gridrig check federation.toml
gridrig run federation.toml                  # "Federating: with ..."
gridrig compare runs --baseline local-only
gridrig report runs --out report.html
