-- 302 to one of the pictures, at random.
local pictures = { "iterative", "forking", "threaded", "epoll" }
local resp = lighty.r.resp_header
resp["Location"] = "/pictures/" .. pictures[math.random(#pictures)] .. ".svg"
return 302
