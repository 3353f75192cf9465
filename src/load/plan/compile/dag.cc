#include "load/plan/compile/dag.h"

#include <algorithm>

#include "core/base/check.h"
#include "load/plan/compile/compile.h"

namespace bellwether::plan {

using scenario::Diagnostics;
using scenario::in_quotes;

Dag Dag::of_steps(const scenario::Workflow& workflow, scenario::Reading& reading) {
  std::vector<Node> nodes;
  for (const scenario::Step& step : workflow.steps) nodes.push_back({step.name, step.after, step.holder});
  return {nodes,
          {"step ", workflow.name.text + ".", " comes after ", ", which is no step of this workflow",
           "the steps of workflow " + in_quotes(workflow.name.text), "after"},
          reading};
}

Dag Dag::of_workflows(const std::vector<scenario::Workflow>& workflows, scenario::Reading& reading) {
  std::vector<Node> nodes;
  for (const scenario::Workflow& workflow : workflows) nodes.push_back({workflow.name, workflow.depends});
  return {nodes,
          {"workflow ", "", " depends on ", ", which is no workflow of this scenario", "the workflows", "depends"},
          reading};
}

Dag::Dag(const std::vector<Node>& nodes, const Words& words, scenario::Reading& reading) {
  after_.resize(nodes.size());
  before_.assign(nodes.size(), std::vector<bool>(nodes.size(), false));
  arranged_.assign(nodes.size(), false);
  unclear_.assign(nodes.size(), false);
  connect(nodes, words, reading);
  has_cycle_ = !arrange();
  if (has_cycle_) report_cycle(nodes, words, reading.diagnostics);
}

void Dag::connect(const std::vector<Node>& nodes, const Words& words, const scenario::Reading& reading) {
  Diagnostics& diagnostics = reading.diagnostics;
  for (const Node& node : nodes) holders_.push_back(node.holder);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].after.empty()) continue;
    std::vector<std::string_view> others;
    for (std::size_t other = 0; other < nodes.size(); ++other) {
      if (other != i && holders_[other] == holders_[i]) others.push_back(nodes[other].name.text);
    }
    for (const scenario::Text& name : nodes[i].after) {
      const auto found = std::ranges::find_if(nodes, [&](const Node& one) { return one.name.text == name.text; });
      if (diagnostics.full()) return;
      const bool is_there = found != nodes.end();
      if (is_there && found->holder == holders_[i]) {
        const auto before = static_cast<uint16_t>(found - nodes.begin());
        if (std::find(after_[i].begin(), after_[i].end(), before) == after_[i].end()) after_[i].push_back(before);
        continue;
      }
      unclear_[i] = true;
      diagnostics.add(name.mark, {.message = words.one + in_quotes(words.prefix + nodes[i].name.text) + words.relation +
                                             in_quotes(name.text) +
                                             (is_there ? ", which is in another list of steps" : words.unknown),
                                  .found = in_quotes(name.text),
                                  .expected = scenario::one_of(others),
                                  .is_independent = !reading.unread.contains(name.text),
                                  .complete = [&](Diagnostics::Problem& problem) {
                                    problem.hint = scenario::did_you_mean(name.text, others);
                                  }});
    }
  }
}

// False when the remaining steps wait for each other.
bool Dag::arrange() {
  std::size_t left = after_.size();
  while (left > 0) {
    std::vector<uint16_t> layer;
    for (std::size_t i = 0; i < after_.size(); ++i) {
      const auto is_done = [this](uint16_t other) { return arranged_[other]; };
      if (!arranged_[i] && std::ranges::all_of(after_[i], is_done)) {
        layer.push_back(static_cast<uint16_t>(i));
      }
    }
    if (layer.empty()) return false;
    for (const uint16_t step : layer) {
      arranged_[step] = true;
      for (const uint16_t direct : after_[step]) {
        before_[step][direct] = true;
        if (unclear_[direct]) unclear_[step] = true;
        for (std::size_t i = 0; i < after_.size(); ++i) {
          if (before_[direct][i]) before_[step][i] = true;
        }
      }
    }
    left -= layer.size();
    order_.insert(order_.end(), layer.begin(), layer.end());
  }
  return true;
}

std::vector<uint16_t> Dag::held_by(std::optional<uint16_t> holder) const {
  std::vector<uint16_t> out;
  std::copy_if(order_.begin(), order_.end(), std::back_inserter(out),
               [&](uint16_t step) { return holders_[step] == holder; });
  return out;
}

bool Dag::before(std::size_t first, std::size_t second) const {
  const auto [earlier, later] = apart(first, second);
  return has_cycle_ || unclear_[later] || before_[later][earlier];
}

bool Dag::is_clear(std::size_t step) const {
  if (has_cycle_ || unclear_[step]) return false;
  for (auto holder = holders_[step]; holder; holder = holders_[*holder]) {
    if (unclear_[*holder]) return false;
  }
  return true;
}

// A holder is in the list before those that it holds.
std::pair<uint16_t, uint16_t> Dag::apart(std::size_t first, std::size_t second) const {
  std::pair<uint16_t, uint16_t> out(static_cast<uint16_t>(first), static_cast<uint16_t>(second));
  while (holders_[out.first] != holders_[out.second]) {
    uint16_t& deeper = holders_[out.first] > holders_[out.second] ? out.first : out.second;
    deeper = *holders_[deeper];
  }
  return out;
}

// Each remaining step comes after another remaining one: going back must meet a step twice.
void Dag::report_cycle(const std::vector<Node>& nodes, const Words& words, Diagnostics& diagnostics) {
  const auto start = std::find(arranged_.begin(), arranged_.end(), false) - arranged_.begin();
  std::vector<uint16_t> path{static_cast<uint16_t>(start)};
  auto cycle_begin = path.end();
  do {
    const auto& direct = after_[path.back()];
    const auto left = std::ranges::find_if(direct, [this](uint16_t i) { return !arranged_[i]; });
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
                                                  .hint = fmt::format("remove one '{}' of these", words.key),
                                                  .is_independent = true});
}

// The orders of steps: what begins first, what follows, and how many can run at once.

namespace {

class Flow {
 public:
  Flow(const Dag& dag, const Plan& plan, Workflow& out) : dag_(dag), plan_(plan), out_(out) {}

  // REQUIRES that those of the blocks in it are made.
  Order order_of(std::optional<uint16_t> holder, bool one) {
    Order order;
    if (holder) order.number = out_.orders++;
    order.steps = dag_.held_by(holder);
    order.is_chain = std::adjacent_find(order.steps.begin(), order.steps.end(), [&](uint16_t first, uint16_t second) {
                       return !dag_.before(first, second);
                     }) == order.steps.end();
    for (const uint16_t step : order.steps) {
      const auto is_before = [&](uint16_t other) { return dag_.before(other, step); };
      if (begins(out_.steps[step]) && std::ranges::none_of(order.first, is_before)) {
        order.first.push_back(step);
      }
    }
    order.width = width_of(order.steps, one);
    return order;
  }

 private:
  // Whether each iteration that reaches it sends a measured request.
  bool begins(const Step& step) const {
    if (!step.conditions.empty()) return false;
    const auto* block = std::get_if<Block>(&step.work);
    return block != nullptr ? !block->order.first.empty() : plan_.steps[step.id].measured;
  }

  // The steps fall into rows of which each comes after the one before: at most one of a row runs.
  uint32_t width_of(const std::vector<uint16_t>& steps, bool one) const {
    struct Row {
      uint16_t last;
      uint32_t width;
    };
    std::vector<Row> rows;
    for (const uint16_t step : steps) {
      const auto* block = std::get_if<Block>(&out_.steps[step].work);
      const uint32_t width = block != nullptr ? block->order.width : 1;
      const auto row =
          std::ranges::find_if(rows, [&](const Row& other) { return one || dag_.before(other.last, step); });
      if (row == rows.end()) {
        rows.push_back({step, width});
      } else {
        *row = {step, std::max(row->width, width)};
      }
    }
    uint32_t sum = 0;
    for (const Row& row : rows) sum += row.width;
    return sum;
  }

  const Dag& dag_;
  const Plan& plan_;
  Workflow& out_;
};

}  // namespace

void compile_flow(const scenario::Workflow& source, const Dag& dag, const Plan& plan, Workflow& out) {
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    out.steps[i].after = dag.after(i);
    for (const uint16_t before : out.steps[i].after) out.steps[before].then.push_back(static_cast<uint16_t>(i));
  }
  Flow flow(dag, plan, out);
  for (std::size_t i = out.steps.size(); i-- > 0;) {  // each after those that it holds
    auto* block = std::get_if<Block>(&out.steps[i].work);
    if (block == nullptr) continue;
    const bool one = std::get<scenario::Block>(source.steps[i].work).one;
    block->order = flow.order_of(static_cast<uint16_t>(i), one);
    uint64_t sum = 0;
    for (const uint16_t step : block->order.steps) {
      if (one) block->weights.push_back(sum += source.steps[step].weight);
    }
  }
  out.order = flow.order_of(std::nullopt, false);
}

}  // namespace bellwether::plan
