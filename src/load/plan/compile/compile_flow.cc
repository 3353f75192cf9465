// The orders of steps: what begins first, what follows, and how many can run at once.
#include <algorithm>
#include <utility>
#include <vector>

#include "load/plan/compile/compile.h"
#include "load/plan/compile/dag.h"

namespace bellwether::plan {
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
      if (begins(out_.steps[step]) && std::none_of(order.first.begin(), order.first.end(), is_before)) {
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
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const Row& other) { return one || dag_.before(other.last, step); });
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
