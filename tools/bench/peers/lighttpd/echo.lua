-- The value asked for, or that there is none, as XML.
local c = lighty.c
local r = lighty.r
local query = r.req_attr["uri.query"]
local value = query and c.urldec_query(query)["value"]
local body = "<error>no value specified</error>"
if value then
    body = "<value>" .. c.xmlenc(value) .. "</value>"
end
r.resp_header["Content-Type"] = "text/xml"
r.resp_body:set("<http_test>" .. body .. "</http_test>")
return 200
