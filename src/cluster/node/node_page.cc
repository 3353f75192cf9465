#include "cluster/node/node_page.h"

#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

namespace bellwether::node {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

web::Answer verdict(const std::string& why_not) {
  if (why_not.empty()) return {.status = 200, .body = "ok\n"};
  return {.status = 503, .body = why_not + "\n"};
}

}  // namespace

NodeProbes::NodeProbes(runtime::Runtime& runtime, const NodeDesk& desk)
    : runtime_(runtime), desk_(desk), probes_(settings_, runtime.read_clock(), runtime.prng().fork()) {}

void NodeProbes::look(Instant due) {
  const Instant now = runtime_.read_clock();
  const health::Probes::Due what = probes_.tick(now);
  if (what.startup) probes_.startup_result(now, desk_.joined());
  // The loop that turns this late would have answered a request as late.
  if (what.liveness) probes_.liveness_result(now - due <= settings_.liveness.timeout);
  if (what.readiness) probes_.readiness_result(desk_.not_ready().empty());
}

runtime::task<void> NodeProbes::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Instant due = probes_.next_deadline();
    co_await runtime_.sleep_until(due, cancel);
    if (!cancel->cancelled()) look(due);
  }
}

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + "\"";
}

runtime::task<web::Answer> NodePage::answer(web::Request request, runtime::Cancellation*) {
  co_return answer_to(request);
}

web::Answer NodePage::answer_to(const web::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return {.status = 405, .body = "this is a page to be read\n", .fields = {{"Allow", "GET, HEAD"}}};
  }
  if (request.path == "/livez") {
    return verdict(probes_.verdicts().live() ? "" : "its loop stalled whenever it was looked at, or it does not start");
  }
  // At once, without the threshold: whoever asks has one of its own, and whoever balances load has none.
  if (request.path == "/readyz") return verdict(desk_.not_ready());
  if (request.path == "/startupz") return verdict(desk_.joined() ? "" : "it has not joined its cluster yet");
  if (request.path == "/leader") {
    return verdict(desk_.leader().valid_for.value_or(Duration()) > Duration::zero() ? "" : "this node does not lead");
  }
  if (request.path == "/health") return health();
  if (request.path == "/metrics") return metrics();
  return {.status = 404, .body = "there are /livez, /readyz, /startupz, /health, /leader and /metrics\n"};
}

web::Answer NodePage::health() const {
  const LeaderView leader = desk_.leader();
  const QuorumView quorum = desk_.quorum();
  const std::string not_ready = desk_.not_ready();
  nlohmann::ordered_json out;
  out["ready"] = not_ready.empty();
  if (!not_ready.empty()) out["not_ready"] = not_ready;
  out["joined"] = desk_.joined();
  if (!quorum.state.empty()) out["state"] = quorum.state;
  const health::Probes& probes = probes_.verdicts();
  out["probes"] = {{"startup", probes.started()}, {"liveness", probes.live()}, {"readiness", probes.ready()}};
  if (std::string progress = desk_.progress(); !progress.empty()) out["progress"] = std::move(progress);
  out["degradation"] = desk_.degradation();
  out["health_score"] = desk_.health_score();
  out["leader"] = {{"name", leader.name}, {"term", leader.term}, {"evidence", leader.evidence}};
  out["decided_by"] = quorum.decided_by;
  if (!quorum.obstacle.empty()) out["obstacle"] = quorum.obstacle;
  if (!quorum.voters.empty())
    out["quorum"] = {{"voters", quorum.voters.size()}, {"needed", quorum.needed}, {"alive", quorum.alive}};
  std::map<std::string, std::size_t> states;
  for (const MemberView& member : desk_.members()) ++states[member.state];
  out["members"] = states;
  return {.status = not_ready.empty() ? 200 : 503,
          .type = "application/json",
          .body = out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

web::Answer NodePage::metrics() const {
  std::string text;
  std::string_view last;
  for (const Figure& figure : figures_.figures()) {
    const std::string name(figure.name);
    const std::string_view family = figure.family.empty() ? figure.name : figure.family;
    if (family != last) {
      text += "# HELP " + std::string(family) + " " + std::string(figure.help) + "\n# TYPE " + std::string(family) +
              " " + std::string(figure.type) + "\n";
    }
    last = family;
    text += name + (figure.labels.empty() ? "" : "{" + figure.labels + "}") + " " + number(figure.value) + "\n";
  }
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(text)};
}

}  // namespace bellwether::node
