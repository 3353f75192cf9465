-- extract.yaml as a script: a check of the status and one value taken out of the JSON body.
scenario {env = {BASE = "http://127.0.0.1:18080", VUS = 64, SECONDS = 3}, defaults = {http = {base = "${BASE}"}}}

local load = workflow("load", {vus = "${VUS}", duration = "${SECONDS}s", graceful_stop = "2s"})

load:step("get", {checks = {"status is 200"}}, function()
  local res = http.get("/json")
  check("status is 200", res.status == 200)
  return res:json("$.id")
end)
