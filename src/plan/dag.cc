#include "plan/dag.h"

#include <algorithm>

#include "base/check.h"

namespace bellwether::plan {

using scenario::Diagnostics;
using scenario::in_quotes;

Dag::Dag(const scenario::Workflow& workflow, Diagnostics& diagnostics) {
  const std::size_t count = workflow.steps.size();
  after_.resize(count);
  before_.assign(count, std::vector<bool>(count, false));
  arranged_.assign(count, false);
  connect(workflow, diagnostics);
  has_cycle_ = !arrange();
  if (has_cycle_) report_cycle(workflow, diagnostics);
}

void Dag::connect(const scenario::Workflow& workflow, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  names.reserve(workflow.steps.size());
  for (const scenario::Step& step : workflow.steps) names.push_back(step.name.text);
  for (std::size_t i = 0; i < workflow.steps.size(); ++i) {
    std::vector<std::string_view> others = names;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    for (const scenario::Text& name : workflow.steps[i].after) {
      const auto found = std::find(names.begin(), names.end(), name.text);
      if (diagnostics.full()) return;
      if (found != names.end()) {
        after_[i].push_back(static_cast<uint16_t>(found - names.begin()));
        continue;
      }
      diagnostics.add(name.mark,
                      {.message = "step " + in_quotes(workflow.name.text + "." + workflow.steps[i].name.text) +
                                  " comes after " + in_quotes(name.text) + ", which is no step of this workflow",
                       .found = in_quotes(name.text),
                       .expected = scenario::one_of(others),
                       .hint = scenario::did_you_mean(name.text, others)});
    }
  }
}

// Layer by layer; false when steps are left that wait for each other.
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

// Every step that is left has one before it that is left too: going back must meet a step twice.
void Dag::report_cycle(const scenario::Workflow& workflow, Diagnostics& diagnostics) {
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
    cycle += (cycle.empty() ? "" : " → ") + workflow.steps[*step].name.text;
  }
  diagnostics.add(workflow.steps[path.front()].name.mark,
                  {.message = "the steps of workflow " + in_quotes(workflow.name.text) + " form a cycle: " + cycle,
                   .hint = "remove one 'after' of these"});
}

}  // namespace bellwether::plan
