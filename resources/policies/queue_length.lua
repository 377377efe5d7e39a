-- A forwarding policy of one's own for gridrig: the fewest queued jobs.
-- It decides as queue-length(tie=first) does. docs/own-policy.md has the protocol.
columns = { "queued_30s" }

function choose(cycle)
    local queued, answers = cycle.candidates.queued_30s, {}
    for index, request in ipairs(cycle.requests) do
        local best = nil
        for _, candidate in ipairs(request.candidates) do
            -- Candidates count from 0, lists of Lua from 1.
            if not best or queued[candidate + 1] < queued[best + 1] then
                best = candidate
            end
        end
        answers[index] = best
    end
    return answers
end
