"""One load in YAML, Lua and C++: for each kind of failure a workflow of the same three steps."""

import json

from .counted import BODY, KINDS

STEPS = {"look": "get", "pay": "post", "list": "get"}  # one after the other; the server fails the last two
FAILING = ("pay", "list")


def limit(kind, step, timeout):
    """The timeout of a request that gets no answer. All others have the default, which a busy machine keeps."""
    return timeout if kind == "deaf" or kind == "late" and step in FAILING else "60s"


def after(step):
    before = [*STEPS][:[*STEPS].index(step)]
    return {"after": before[-1]} if before else {}


def thresholds(kinds, limit_ms):
    out = {}
    for step in (f"{kind}.{step}" for kind in kinds for step in STEPS):
        out[f"http_req_duration{{step:{step}}}"] = [f"p(95)<{limit_ms}"]
        out[f"http_req_failed{{step:{step}}}"] = ["rate>=0"]
    return out


def scenario(limit_ms):
    """The settings of the whole run."""
    return {"metrics": {"orders": "counter"}, "thresholds": thresholds(KINDS, limit_ms)}


def in_yaml(load, urls, timeout, limit_ms):
    """JSON is YAML."""
    workflows = {}
    for kind in KINDS:
        steps = {}
        for step, method in STEPS.items():
            http = {method: f"{urls[kind]}/{step}", "timeout": limit(kind, step, timeout)}
            if method == "post":
                http["json"] = json.loads(BODY)
            steps[step] = {"http": http, "check": {"status": 200}, "metric": {"orders": 1}, **after(step)}
        workflows[kind] = {**load, "steps": steps}
    return json.dumps({**scenario(limit_ms), "workflows": workflows}, indent=1)


def to_lua(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{json.dumps(key)}] = {to_lua(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(to_lua, value)) + "}"
    return json.dumps(value)


def in_lua(load, urls, timeout, limit_ms):
    lines = [f"scenario {to_lua(scenario(limit_ms))}",
             "local w",
             "local function count(res) if res.status ~= 0 then metric('orders', 1) end end"]
    for kind in KINDS:
        lines.append(f"w = workflow('{kind}', {to_lua(load)})")
        for step, method in STEPS.items():
            body = f", json = {to_lua(json.loads(BODY))}" if method == "post" else ""
            options = to_lua({"check": {"status": 200}, **after(step)})
            lines.append(f"w:step('{step}', {options}, function() count(http.{method}('{urls[kind]}/{step}', "
                         f"{{timeout = '{limit(kind, step, timeout)}'{body}}})) end)")
    return "\n".join(lines) + "\n"


# It is compiled once: what differs between runs comes from the environment.
PROGRAM = r"""
#include <bellwether/workflow.h>
#include <cstdlib>
using namespace bellwether::workflow;
BELLWETHER_SCENARIO(std::getenv("BW_SCENARIO"))
constexpr const char* kKinds[] = {@KINDS@};
template <int K>
class Cell : public Workflow {
 public:
  static inline const Settings settings{.name = kKinds[K], .more = std::getenv("BW_LOAD")};
  static void steps(Steps<Cell>& s) {
    s.step("look", &Cell::look).more("check: {status: 200}");
    s.step("pay", &Cell::pay).after("look").more("check: {status: 200}");
    s.step("list", &Cell::list).after("pay").more("check: {status: 200}");
  }

 private:
  static std::string url(const char* step) {
    return std::getenv((std::string("BW_URL_") + kKinds[K]).c_str()) + ("/" + std::string(step));
  }
  static Duration limit(bool can_fail) {
    const bool waits = kKinds[K] == std::string("deaf") || (can_fail && kKinds[K] == std::string("late"));
    return waits ? Duration{std::atoll(std::getenv("BW_TIMEOUT_MS")) * 1'000'000} : 60_s;
  }
  Task<Response> count(Response response) {
    if (response.status() != 0) record("orders", 1);
    co_return response;
  }
  Task<Response> look() {
    auto response = co_await look_;
    co_return co_await count(response);
  }
  Task<Response> pay() {
    auto response = co_await post(url("pay")).json(R"(@BODY@)").timeout(limit(true));
    co_return co_await count(response);
  }
  Task<Response> list() {
    auto response = co_await get(list_).timeout(limit(true));
    co_return co_await count(response);
  }
  Request look_ = get(url("look")).timeout(limit(false));
  Url list_{url("list")};
};
BELLWETHER_WORKFLOWS(@CELLS@)
"""


def program():
    return (PROGRAM.replace("@KINDS@", ", ".join(f'"{kind}"' for kind in KINDS)).replace("@BODY@", BODY.decode())
            .replace("@CELLS@", ", ".join(f"Cell<{i}>" for i in range(len(KINDS)))))


def environment(load, urls, timeout, limit_ms):
    """For the compiled program, which wants keys and no braces around them."""
    settings = "\n".join(f"{key}: {json.dumps(value)}" for key, value in scenario(limit_ms).items())
    return {"BW_SCENARIO": settings, "BW_LOAD": json.dumps(load)[1:-1],
            "BW_TIMEOUT_MS": timeout.removesuffix("ms"), **{f"BW_URL_{kind}": url for kind, url in urls.items()}}
