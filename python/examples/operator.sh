#!/usr/bin/env bash
# Should two clusters share their load? What Slurm has accounted on each is all that is needed.
set -euo pipefail

# On a cluster: SLURM_TIME_FORMAT=%s sacct -a -X -D -P --noconvert -S ... -E ... -o ... > alpha.txt
# (gridrig trace import --help has the columns). Here two dumps are made up: jobs of 10 minutes
# every 4 minutes on alpha, which has room for two of them at a time and lets the others wait, and
# jobs of a minute every 5 minutes on beta.
dump() { # CLUSTER EVERY RUN_TIME PROCESSORS AT_A_TIME
    echo 'JobIDRaw|Cluster|User|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|ReqCPUS|AllocCPUS|NNodes'
    local ends=()
    for job in $(seq 60); do
        at=$((1704110400 + job * $2))
        start=$at
        if ((job > $5 && ends[job - $5] > at)); then start=${ends[job - $5]}; fi
        ends[job]=$((start + $3))
        echo "$job|$1|ada|$at|$at|$start|${ends[job]}|$3|20|COMPLETED|$4|$4|1"
        echo "$job.batch|$1||$start|$start|$start|${ends[job]}|$3||COMPLETED|$4|$4|1"
    done
    echo "61|$1|bob|$at|$at|None|$at|0|Partition_Limit|CANCELLED by 1001|2|0|1"
}
dump alpha 240 600 3 2 > alpha.txt
dump beta 300 60 1 16 > beta.txt

gridrig trace import alpha.txt --map sacct --processors 8 -o alpha.swf
gridrig trace import beta.txt --map sacct --processors 16 -o beta.swf
gridrig twin alpha.swf                       # does a model of the site reproduce its waits?
gridrig whatif alpha.swf beta.swf --out whatif       # who gains by a broker between them?

# The same as a scenario, to change.
gridrig init federation.toml --from alpha.swf --from beta.swf
gridrig check federation.toml
gridrig run federation.toml                  # "Federating: with ..."
gridrig compare runs --baseline local-only
gridrig report runs --out report.html
