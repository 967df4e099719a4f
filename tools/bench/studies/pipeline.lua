-- For wrk: sixteen requests in one packet, and the next sixteen when all the
-- answers are in.
local depth = 16

init = function()
    local requests = {}
    for i = 1, depth do
        requests[i] = wrk.format()
    end
    batch = table.concat(requests)
end

request = function()
    return batch
end
