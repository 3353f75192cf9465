-- Virtual users that have done what extract.lua does, and now wait in the middle of a function, with a connection.
scenario {env = {BASE = "http://127.0.0.1:18080", VUS = 10000}, defaults = {http = {base = "${BASE}"}}}

local load = workflow("load", {vus = "${VUS}", duration = "1h", graceful_stop = "0s"})

load:step("get", {checks = {"status is 200"}}, function()
  local res = http.get("/json")
  check("status is 200", res.status == 200)
  local id = res:json("$.id")
  sleep("1h")
  return id
end)
