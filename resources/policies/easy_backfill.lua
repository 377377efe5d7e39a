-- A discipline of one's own for gridrig: EASY backfilling on nodes that are alike.
-- Jobs start as under easy-backfill. docs/own-policy.md has the protocol.

function schedule(pass)
    local start, free = {}, pass.free
    local waiting, running = pass.waiting, pass.running
    local head = nil
    for index, job in ipairs(waiting) do
        if job.processors > free then
            head = index
            break
        end
        free = free - job.processors
        start[index] = job.job
        running[#running + 1] = {
            processors = job.processors,
            expected_end_s = pass.now_s + job.estimate_s,
        }
    end
    if not head or free == 0 or head == #waiting then
        return start
    end
    if #start > 0 then
        table.sort(running, function(a, b) return a.expected_end_s < b.expected_end_s end)
    end
    -- When the head will have enough, and what is left over then.
    local wanted = waiting[head].processors
    local there, shadow = free, math.huge
    for _, job in ipairs(running) do
        if there >= wanted and job.expected_end_s > shadow then
            break
        end
        there = there + job.processors
        if there >= wanted and shadow == math.huge then
            shadow = math.max(job.expected_end_s, pass.now_s)
        end
    end
    local extra = there - wanted
    for index = head + 1, #waiting do
        local job = waiting[index]
        local size = job.processors
        if size <= free then
            local ends = pass.now_s + job.estimate_s <= shadow
            if ends or size <= extra then
                start[#start + 1] = job.job
                free = free - size
                if not ends then
                    extra = extra - size
                end
                if free == 0 then
                    break
                end
            end
        end
    end
    return start
end
