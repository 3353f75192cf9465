#include "load/local/run_controls.h"

#include <nlohmann/json.hpp>

namespace bellwether::node {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

std::string member(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::string RunControls::answer(std::string_view line) {
  if (const Status done = obey(line); !done) return text_of({{"ok", false}, {"error", done.error().message}});
  const aggregate::Counts counts = run_.totals().counts();
  Json workflows = Json::array();
  for (const auto& [w, vus] : run_.wanted()) {
    const plan::Workflow& workflow = plan_.workflows[w];
    workflows.push_back({{"name", workflow.name},
                         {"vus", vus},
                         {"max_vus", std::get<plan::ExternallyControlled>(workflow.executor).vus_most}});
  }
  return text_of({{"ok", true},
                  {"run", id_},
                  {"scenario", plan_.name},
                  {"state", run_.stopping() ? "stopping"
                            : run_.paused() ? "paused"
                                            : "running"},
                  {"elapsed_s", run_.running_for().seconds_f()},
                  {"vus", run_.totals().vus().active.last},
                  {"requests", counts.requests},
                  {"failed", counts.failed},
                  {"iterations", counts.iterations},
                  {"controlled", std::move(workflows)}});
}

Status RunControls::obey(std::string_view line) {
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object()) return fail(Errc::kInvalid, "the request is no JSON object");
  const std::string what = member(request, "do");
  if (what == "status") return {};
  if (run_.stopping() && what != "stop") return fail(Errc::kInvalid, "the run is being stopped");
  if (what == "pause") {
    run_.pause();
  } else if (what == "resume") {
    run_.resume();
  } else if (what == "stop") {
    run_.stop("stopped from outside");
  } else if (what == "vus") {
    const auto vus = request.find("vus");
    if (vus == request.end() || !vus->is_number_unsigned() || vus->get<uint64_t>() > UINT32_MAX) {
      return fail(Errc::kInvalid, "'vus' is a whole number from 0 on");
    }
    return run_.scale(member(request, "workflow"), vus->get<uint32_t>());
  } else {
    return fail(Errc::kInvalid, "'do' is one of status, pause, resume, stop, vus; not '" + what + "'");
  }
  return {};
}

}  // namespace bellwether::node
