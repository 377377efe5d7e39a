-- A discipline of one's own for gridrig: EASY backfilling on nodes that are alike.
-- Jobs start as under easy-backfill. docs/own-policy.md has the protocol.

function schedule(pass)
    local start, free, running = {}, pass.free, pass.running
    local head = nil
    for index, job in ipairs(pass.waiting) do
        if job.processors > free then
            head = index
            break
        end
        free = free - job.processors
        start[#start + 1] = job.job
        running[#running + 1] = {
            processors = job.processors,
            expected_end_s = pass.now_s + job.estimate_s,
        }
    end
    if not head then
        return start
    end
    -- When the head will have enough, and what is left over then.
    table.sort(running, function(a, b) return a.expected_end_s < b.expected_end_s end)
    local there, shadow = free, math.huge
    for _, job in ipairs(running) do
        if there >= pass.waiting[head].processors and job.expected_end_s > shadow then
            break
        end
        there = there + job.processors
        if there >= pass.waiting[head].processors and shadow == math.huge then
            shadow = math.max(job.expected_end_s, pass.now_s)
        end
    end
    local extra = there - pass.waiting[head].processors
    for index = head + 1, #pass.waiting do
        local job = pass.waiting[index]
        local ends = pass.now_s + job.estimate_s <= shadow
        if job.processors <= free and (ends or job.processors <= extra) then
            start[#start + 1] = job.job
            free = free - job.processors
            if not ends then
                extra = extra - job.processors
            end
        end
    end
    return start
end
