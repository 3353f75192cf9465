#include "load/plan/compile/dag.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::plan {

using scenario::Diagnostics;
using scenario::in_quotes;

Dag Dag::of_steps(const scenario::Workflow& workflow, Diagnostics& diagnostics) {
  std::vector<Node> nodes;
  for (const scenario::Step& step : workflow.steps) nodes.push_back({step.name, step.after});
  return {nodes,
          {"step ", workflow.name.text + ".", " comes after ", ", which is no step of this workflow",
           "the steps of workflow " + in_quotes(workflow.name.text), "after"},
          diagnostics};
}

Dag Dag::of_workflows(const std::vector<scenario::Workflow>& workflows, Diagnostics& diagnostics) {
  std::vector<Node> nodes;
  for (const scenario::Workflow& workflow : workflows) nodes.push_back({workflow.name, workflow.depends});
  return {nodes,
          {"workflow ", "", " depends on ", ", which is no workflow of this scenario", "the workflows", "depends"},
          diagnostics};
}

Dag::Dag(const std::vector<Node>& nodes, const Words& words, Diagnostics& diagnostics) {
  after_.resize(nodes.size());
  before_.assign(nodes.size(), std::vector<bool>(nodes.size(), false));
  arranged_.assign(nodes.size(), false);
  connect(nodes, words, diagnostics);
  has_cycle_ = !arrange();
  if (has_cycle_) report_cycle(nodes, words, diagnostics);
}

void Dag::connect(const std::vector<Node>& nodes, const Words& words, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  names.reserve(nodes.size());
  for (const Node& node : nodes) names.push_back(node.name.text);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string_view> others = names;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    for (const scenario::Text& name : nodes[i].after) {
      const auto found = std::find(names.begin(), names.end(), name.text);
      if (diagnostics.full()) return;
      if (found != names.end()) {
        after_[i].push_back(static_cast<uint16_t>(found - names.begin()));
        continue;
      }
      diagnostics.add(name.mark, {.message = words.one + in_quotes(words.prefix + nodes[i].name.text) + words.relation +
                                             in_quotes(name.text) + words.unknown,
                                  .found = in_quotes(name.text),
                                  .expected = scenario::one_of(others),
                                  .hint = scenario::did_you_mean(name.text, others)});
    }
  }
}

// Layer by layer; false when the remaining steps wait for each other.
bool Dag::arrange() {
  std::size_t left = after_.size();
  while (left > 0) {
    std::vector<uint16_t> layer;
    for (std::size_t i = 0; i < after_.size(); ++i) {
      const auto is_done = [this](uint16_t other) { return arranged_[other]; };
      if (!arranged_[i] && std::all_of(after_[i].begin(), after_[i].end(), is_done)) {
        layer.push_back(static_cast<uint16_t>(i));
      }
    }
    if (layer.empty()) return false;
    for (const uint16_t step : layer) {
      arranged_[step] = true;
      for (const uint16_t direct : after_[step]) {
        before_[step][direct] = true;
        for (std::size_t i = 0; i < after_.size(); ++i) {
          if (before_[direct][i]) before_[step][i] = true;
        }
      }
    }
    left -= layer.size();
    layers_.push_back(std::move(layer));
  }
  return true;
}

// Each remaining step comes after another remaining one: going back must meet a step twice.
void Dag::report_cycle(const std::vector<Node>& nodes, const Words& words, Diagnostics& diagnostics) {
  const auto start = std::find(arranged_.begin(), arranged_.end(), false) - arranged_.begin();
  std::vector<uint16_t> path{static_cast<uint16_t>(start)};
  auto cycle_begin = path.end();
  do {
    const auto& direct = after_[path.back()];
    const auto left = std::find_if(direct.begin(), direct.end(), [this](uint16_t i) { return !arranged_[i]; });
    check(left != direct.end(), "a step that is left waits for another that is left");
    path.push_back(*left);
    cycle_begin = std::find(path.begin(), path.end() - 1, *left);
  } while (cycle_begin == path.end() - 1);
  path.erase(path.begin(), cycle_begin);
  std::string cycle;
  for (auto step = path.rbegin(); step != path.rend(); ++step) {  // from first to last
    cycle += (cycle.empty() ? "" : " → ") + nodes[*step].name.text;
  }
  diagnostics.add(nodes[path.front()].name.mark, {.message = fmt::format("{} form a cycle: {}", words.all, cycle),
                                                  .hint = fmt::format("remove one '{}' of these", words.key)});
}

}  // namespace bellwether::plan
