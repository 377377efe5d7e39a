-- A discipline of one's own for gridrig: first come, first served.
-- It decides as fcfs does. docs/own-policy.md has the protocol.
columns = { "waiting" }

function schedule(pass)
    local start, free = {}, pass.free
    for index, job in ipairs(pass.waiting) do
        if job.processors > free then
            break
        end
        free = free - job.processors
        start[index] = job.job
    end
    return start
end
