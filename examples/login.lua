-- The scenario of login.yaml as a script: log in, keep the token that comes back, use it, think like a person, and
-- decide whether that was good enough.
scenario {
  env = {BASE = "http://127.0.0.1:18080", PASS = "secret"},
  defaults = {http = {base = "${BASE}", headers = {Accept = "application/json"}, timeout = "5s"}},
  thresholds = {
    http_req_failed = {"rate<0.01"},
    ["http_req_duration{step:shop.login}"] = {"p(95)<200"},
    checks = {"rate>0.99"},
  },
}

local shop = workflow("shop", {vus = 20, duration = "15s"})

shop:step("login", {
  args = {pass = "${PASS}"},
  check = {status = 200},
  checks = {"there is a token"},
  on_error = "end-iteration", -- without a token, the rest would only fail too
}, function(user, args)
  local res = http.post("/login", {json = {user = "user-" .. user.id, pass = args.pass}})
  user.token = res:json("$.token")
  check("there is a token", user.token ~= nil)
end)

shop:step("list", {
  after = "login",
  check = {status = {200, 304}, header = {["Content-Type"] = {contains = "json"}}},
  think = "100ms..300ms",
}, function(user)
  local res = http.get("/items", {headers = {Authorization = "Bearer " .. user.token}})
  return res:json("$[0].id") -- later steps find it as user.results.list
end)

shop:step("pay", {after = "list", check = {json = {["$.paid"] = true}}}, function(user)
  http.post("/pay", {
    headers = {Authorization = "Bearer " .. user.token, ["Idempotency-Key"] = uuid()},
    json = {item = user.results.list, amount = 1},
  })
end)
