#include "cli/context_words.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/view.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/message/to_json.h"

namespace bellwether::cli {
namespace {

using Json = nlohmann::ordered_json;
using cluster::ContextView;
using cluster::OutcomeAnswer;

std::string of_all(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& one : texts) out += (out.empty() ? "" : "; ") + printable(one);
  return out;
}

std::vector<const ContextView*> all_of(const ContextView& view, const std::vector<ContextView>& others) {
  std::vector<const ContextView*> out{&view};
  for (const ContextView& one : others) {
    if (one.answered_by != view.answered_by) out.push_back(&one);
  }
  std::sort(out.begin(), out.end(), [](const auto* a, const auto* b) { return a->answered_by < b->answered_by; });
  return out;
}

const ContextView::Node* health_of(const ContextView& view, const std::string& name) {
  const auto found =
      std::find_if(view.nodes.begin(), view.nodes.end(), [&](const auto& one) { return one.name == name; });
  return found == view.nodes.end() ? nullptr : &*found;
}

Json described(const cluster::ContextAnswer& answer) { return Json::parse(message::to_json(answer)).front(); }

}  // namespace

std::string failover_text(const ContextView::Failover& failover) {
  const std::string from = failover.from.empty() ? "nobody" : printable(failover.from);
  std::string text =
      failover.ok ? printable(failover.to) + " leads after " + from + ", " + format_duration(failover.took) + "\n"
                  : "the transfer to " + printable(failover.to) + " came to nothing: " + printable(failover.why) + "\n";
  if (failover.steps.empty()) return text;
  const int64_t begin = failover.steps.front().at.unix_ns;
  for (const auto& one : failover.steps) {
    const Duration after = Duration::nanos(std::max<int64_t>(one.at.unix_ns - begin, 0));
    text += "  + " + format_duration(after) + "  " + printable(one.text) + "\n";
  }
  return text;
}

std::string context_text(const ContextView& view, const std::vector<ContextView>& others) {
  std::string text = view.leader.empty()
                         ? "nobody is known to lead contexts\n"
                         : printable(view.leader) + " leads contexts, epoch " + std::to_string(view.epoch) + "\n";
  const bool leads = view.leader == view.answered_by;
  if (leads) {
    text += "since " + format_duration(view.leads_for) + ", the leader's term number " + std::to_string(view.terms) +
            "; " + printable(view.duty) + (view.why.empty() ? "" : ": " + printable(view.why)) + "\n";
    text += "manager: " + (view.manager.empty() ? "none is registered" : printable(view.manager)) + "\n";
    text += "requests: " + std::to_string(view.queued) + " queued, " + std::to_string(view.active) + " active, " +
            std::to_string(view.completed) + " completed, " + std::to_string(view.failed) + " failed" +
            (view.queued == 0 ? "" : "; the oldest has waited " + format_duration(view.oldest_waiting)) + "\n";
    text += "health of the cluster: " + (view.checked ? figure(view.health) : "not looked at yet") + "\n";
    for (const auto& one : view.jobs) {
      text += "  " + to_string(one.id) + " attempt " + std::to_string(one.attempt) + ", runs for " +
              format_duration(one.runs_for) + "\n";
    }
  }
  Table table({"NODE", "HEALTH", "SCORE", "MANAGER", "NOT FIT BECAUSE"});
  for (const ContextView* one : all_of(view, others)) {
    const auto* health = health_of(view, one->answered_by);
    table.add({one->answered_by, health == nullptr ? "" : figure(health->health),
               one->fitness ? figure(one->fitness->score) : "", one->manager,
               one->fitness ? of_all(one->fitness->disqualified) : ""});
  }
  text += table.text();
  if (view.failover) text += "last failover: " + failover_text(*view.failover);
  return text;
}

std::string context_json(const ContextView& view, const std::vector<ContextView>& others) {
  Json nodes = Json::array();
  for (const ContextView* one : all_of(view, others)) {
    Json node = {{"name", one->answered_by}, {"manager", one->manager}};
    if (const auto* health = health_of(view, one->answered_by)) node["health"] = health->health;
    if (one->fitness) node.update(described(*one)["fitness"]);
    nodes.push_back(std::move(node));
  }
  Json out = described(view);
  if (!view.checked) out["health"] = nullptr;
  out["nodes"] = std::move(nodes);
  return out.dump(2) + "\n";
}

std::string outcome_text(const std::string& id, const OutcomeAnswer& outcome) {
  std::string text = id + " is " + std::string(to_string(outcome.standing));
  if (outcome.standing == OutcomeAnswer::Standing::kUnknown) {
    return text + ": it was never submitted, or has ended before the last 200\n";
  }
  text += ", attempt " + std::to_string(outcome.attempts);
  if (!outcome.reason.empty()) text += ": " + printable(outcome.reason);
  return text + (outcome.result_gone ? "; its result is not kept any more\n" : "\n");
}

std::string outcome_json(const std::string& id, const OutcomeAnswer& outcome) {
  Json out = {{"id", id}};
  out.update(described(outcome));
  return out.dump(2) + "\n";
}

}  // namespace bellwether::cli
