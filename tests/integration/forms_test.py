#!/usr/bin/env python3
"""One scenario in its three forms, YAML, Lua and C++: the same requests are sent, and the same figures come out."""

import json
from collections import Counter
from pathlib import Path

from lib import product
from lib.server import Served, response

COMMON = """
  env: {PASS: secret}
  defaults: {http: {base: "URL", headers: {Accept: application/json}}}
  thresholds:
    http_reqs: ["count==40"]
    "http_reqs{step:shop.pay}": ["count==10"]
    checks: ["rate>0.8"]
"""

YAML = COMMON.replace("\n  ", "\n") + """
workflows:
  shop:
    executor: per-vu-iterations
    vus: 2
    iterations: 5
    steps:
      login:
        http: {post: /login, json: {user: "user-${vu}", pass: "${PASS}"}}
        check: {json: {$.token: {exists: true}}}
        extract: {token: {json: $.token}}
      list: {after: login, http: {get: /items, headers: {Authorization: "Bearer ${token}"}}, check: {status: 200}}
      cart: {after: login, http: {get: "/cart?user=${vu}"}}
      pay:
        after: [list, cart]
        http: {post: /pay, headers: {Authorization: "Bearer ${token}"}, json: {item: "${list.json.$[1].id}"}}
        check: {json: {$.paid: true}}
        on_error: end-vu
"""

LUA = """
scenario {
  env = {PASS = "secret"},
  defaults = {http = {base = "URL", headers = {Accept = "application/json"}}},
  thresholds = {http_reqs = "count==40", ["http_reqs{step:shop.pay}"] = "count==10", checks = "rate>0.8"},
}
local shop = workflow("shop", {executor = "per-vu-iterations", vus = 2, iterations = 5})
shop:step("login", {args = {pass = "${PASS}"}, checks = {"a token"}}, function(user, args)
  local res = http.post("/login", {json = {user = "user-" .. user.id, pass = args.pass}})
  user.token = res:json("$.token")
  check("a token", user.token ~= nil)
end)
shop:step("list", {after = "login", check = {status = 200}}, function(user)
  local res = http.get("/items", {headers = {Authorization = "Bearer " .. user.token}})
  return res:json("$[1].id")
end)
shop:step("cart", {after = "login"}, function(user) http.get("/cart?user=" .. user.id) end)
shop:step("pay", {after = {"list", "cart"}, checks = {"paid"}, on_error = "end-vu"}, function(user)
  local res = http.post("/pay", {
    headers = {Authorization = "Bearer " .. user.token}, json = {item = tostring(user.results.list)}})
  check("paid", res:json("$.paid") == true)
end)
"""

CPP = """
#include <bellwether/workflow.h>
using namespace bellwether::workflow;
BELLWETHER_SCENARIO(R"(COMMON)")
class Shop : public Workflow {
 public:
  static constexpr Settings settings{.name = "shop", .executor = "per-vu-iterations", .vus = 2, .iterations = 5};
  static void steps(Steps<Shop>& s) {
    s.step("login", &Shop::login).argument("pass", "${PASS}").checks("a token");
    s.step("list", &Shop::list).after("login").more("check: {status: 200}");
    s.step("cart", &Shop::cart).after("login");
    s.step("pay", &Shop::pay).after("list", "cart").checks("paid").more("on_error: end-vu");
  }

 private:
  Task<Response> login() {
    auto response = co_await post("/login").json(
        R"({"pass":")" + std::string(argument("pass")) + R"(","user":"user-)" + std::to_string(vu()) + R"("})");
    const std::string_view token = response.json("$.token").text("");
    authorization_ = "Bearer " + std::string(token);
    check("a token", !token.empty());
    co_return response;
  }
  Task<Response> list() {
    auto response = co_await get(items_).header("Authorization", *authorization_);
    second_ = static_cast<int>(response.json("$[1].id").number());
    co_return response;
  }
  Task<Response> cart() { co_return co_await get("/cart?user=" + std::to_string(vu())); }
  Task<Response> pay() {
    auto response = co_await post("/pay").header("Authorization", *authorization_).json(
        R"({"item":")" + std::to_string(*second_) + R"("})");
    check("paid", response.json("$.paid").is_true());
    co_return response;
  }
  Url items_{"/items"};
  Value<std::string> authorization_;
  Value<int> second_;
};
BELLWETHER_WORKFLOWS(Shop)
"""


class Forms(Served):
    def respond(self, request, connection):
        head = ["Content-Type: application/json"]
        if request.path == "/login":
            user = json.loads(request.body)["user"]
            return response(b'{"token":"t-%s"}' % user.encode(), headers=head)
        if request.path == "/items":
            return response(b'[{"id":1},{"id":7}]', headers=head)
        if request.path == "/pay":
            # The first user is refused at its last time.
            mine = [one for one in self.server.requests
                    if one.path == "/pay" and one.header("authorization") == "Bearer t-user-1"]
            refused = request.header("authorization") == "Bearer t-user-1" and len(mine) >= 5
            return response(b'{"paid":%s}' % (b"false" if refused else b"true"), headers=head)
        return response(b"{}", headers=head)

    def sent(self):
        """What the server got: methods, paths, headers and bodies, without their order."""
        def body(one):
            return json.dumps(json.loads(one.body), sort_keys=True) if one.body else None
        return Counter((one.method, one.path, one.header("authorization"), one.header("accept"),
                        one.header("content-type"), body(one)) for one in self.server.requests)

    def run_form(self, name, text):
        self.server.requests.clear()
        run = self.load(Path(self.write(name, text.replace("COMMON", COMMON).replace("URL", self.server.url))))
        result = run.result
        return {"sent": self.sent(),
                "steps": {step: (one["count"], one["failed"], one["status"], one["bytes_received"])
                          for step, one in result["steps"].items()},
                "checks": sorted((one["step"], one["passes"], one["fails"]) for one in result["checks"]),
                "thresholds": [(one["metric"], one["expression"], one["value"], one["ok"])
                               for one in result["thresholds"]],
                "iterations": result["workflows"][0]["iterations"],
                "verdict": (result["run"]["verdict"], result["run"]["exit_code"], result["run"]["reason"])}

    def test_all_three_do_and_measure_the_same(self):
        yaml = self.run_form("shop.yaml", YAML)
        self.assertEqual(yaml["steps"]["shop.pay"][:2], (10, 0))
        self.assertEqual(yaml["checks"], [("shop.list", 10, 0), ("shop.login", 10, 0), ("shop.pay", 9, 1)])
        for name, text in (("shop.lua", LUA), ("shop.cc", CPP)):
            form = self.run_form(name, text)
            for part, expected in yaml.items():
                with self.subTest(name=name, part=part):
                    if part == "thresholds":
                        self.assertEqual(sorted(form[part]), sorted(expected))
                    else:
                        self.assertEqual(form[part], expected)


if __name__ == "__main__":
    product.main()
