#!/bin/sh
# @WHAT@. On several hosts that share the folder: parallel --sshlogin ...
# What was killed or failed is run again by the same script.
# Then: @SWEEP@ status @DIR@ && @SWEEP@ merge @DIR@
seq @SLICES@ | parallel --jobs 1 --quote \
    @SWEEP@ run @DIR@ -j @PROCESSORS@ --slice '{}/@SLICES@'
