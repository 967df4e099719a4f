-- A slow stream. Each client asks when it is connected, and from then on waits
-- before each request:
--
--     wrk ... URL -- MILLISECONDS CLIENTS
--
-- the milliseconds on average; the clients are those of a thread.
local longest, fresh

function init(args)
   longest, fresh = 2 * tonumber(args[1]), tonumber(args[2])
end

function delay()
   fresh = fresh - 1
   return fresh >= 0 and 0 or math.random(0, longest)
end
