#!/bin/sh
# A forwarding policy of one's own for gridrig: the first candidate of each job, own
# clusters before peers. docs/own-policy.md has the protocol.
read -r _hello
echo '{"protocol":"gridrig.policy.1","columns":[]}'
while read -r cycle; do
    first=$(printf '%s\n' "$cycle" | grep -o '"candidates":\[[0-9]*' | sed 's/.*\[//')
    echo "{\"answers\":[$(echo "$first" | tr '\n' ',' | sed 's/,$//')]}"
done
