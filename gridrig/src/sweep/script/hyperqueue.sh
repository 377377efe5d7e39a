#!/bin/sh
# @WHAT@. A task knows its slice by HQ_TASK_ID.
# What was killed or failed is run again by the same script.
# Then: @SWEEP@ status @DIR@ && @SWEEP@ merge @DIR@
exec hq submit --name sweep --array 1-@SLICES@ --cpus @PROCESSORS@ -- \
    @SWEEP@ run @DIR@ -j @PROCESSORS@ --slices @SLICES@
