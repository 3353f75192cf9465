// extract.yaml in C++: a check of the status and one value taken out of the JSON body.
#include <bellwether/workflow.h>

using namespace bellwether::workflow;

BELLWETHER_SCENARIO(R"(
  env: {BASE: "http://127.0.0.1:18080", VUS: 64, SECONDS: 3}
  defaults: {http: {base: "${BASE}"}}
)")

class Load : public Workflow {
 public:
  static constexpr Settings settings{.name = "load",
                                     .more = "vus: '${VUS}', duration: '${SECONDS}s', graceful_stop: 2s"};

  static void steps(Steps<Load>& s) { s.step("get", &Load::get_json).checks("status is 200"); }

 private:
  Task<Response> get_json() {
    auto response = co_await get(json_);
    check("status is 200", response.status() == 200);
    id_ = response.json(path_).number();
    co_return response;
  }

  Url json_{"/json"};
  Path path_{"$.id"};
  Value<double> id_;
};

BELLWETHER_WORKFLOWS(Load)
