// The scenario of login.yaml, written in C++: log in, look at the list, buy the first thing of it.
// Start the server with `bellwether target`, then: bellwether run examples/shop.cc
#include <bellwether/workflow.h>

using namespace bellwether::workflow;

BELLWETHER_SCENARIO(R"(
  env:
    BASE: http://127.0.0.1:18080
    PASS: secret
  defaults:
    http:
      base: "${BASE}"
      headers: {Accept: application/json}
      timeout: 5s
  thresholds:
    http_req_failed: ["rate<0.01"]
    "http_req_duration{step:shop.login}": ["p(95)<200"]
    checks: ["rate>0.99"]
)")

class Shop : public Workflow {
 public:
  static constexpr Settings settings{.name = "shop", .vus = 20, .duration = 15_s};

  static void steps(Steps<Shop>& s) {
    // Without a token, the rest would only fail too.
    s.step("login", &Shop::login).argument("pass", "${PASS}").checks("a token").more("on_error: end-iteration");
    s.step("list", &Shop::list).after("login").checks("status", "something to buy").more("think: 100ms..300ms");
    s.step("pay", &Shop::pay).after("list").checks("paid");
  }

 private:
  Task<Response> login() {
    const std::string user = "user-" + std::to_string(vu());
    const std::string pass(argument("pass"));
    auto response = co_await post("/login").json(R"({"user": ")" + user + R"(", "pass": ")" + pass + R"("})");
    const std::string_view token = response.json(token_path_).text();
    if (check("a token", !token.empty())) authorization_ = "Bearer " + std::string(token);
    co_return response;
  }

  Task<Response> list() {
    auto response = co_await get("/items").header("Authorization", *authorization_);
    check("status", response.status() == 200);
    first_ = static_cast<int>(response.json(first_path_).number());
    check("something to buy", *first_ > 0);
    co_return response;
  }

  Task<Response> pay() {
    auto response = co_await post("/pay")
                        .header("Authorization", *authorization_)
                        .json(R"({"amount": 1, "item": )" + std::to_string(*first_) + "}");
    check("paid", response.json("$.paid").is_true());
    co_return response;
  }

  // What one step leaves for the next ones: of this user, and gone when the next iteration begins.
  Value<std::string> authorization_;
  Value<int> first_;

  // Read once.
  Path token_path_{"$.token"};
  Path first_path_{"$[0].id"};
};

BELLWETHER_WORKFLOWS(Shop)
