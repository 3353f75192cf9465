#include "load/plan/provision.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::plan {
namespace {

struct Seat {
  CoreGrant grant;
  uint32_t most = 1;
  int rank = 0;  // of the priority: the highest first
};
using Batch = std::vector<Seat>;

int rank_of(Priority priority) {
  switch (priority) {
    case Priority::kExclusive: return 0;
    case Priority::kHigh: return 1;
    case Priority::kNormal: return 2;
    case Priority::kAuto: return 3;
    case Priority::kLow: return 4;
  }
  return 4;
}

uint32_t quarters(uint32_t pool, uint32_t count) { return static_cast<uint32_t>((uint64_t{pool} * count + 3) / 4); }

uint32_t cores_of(const Batch& batch) {
  uint32_t sum = 0;
  for (const Seat& one : batch) sum += one.grant.cores;
  return sum;
}

// Into the first batch with room for its least number of cores.
void place(std::vector<Batch>& batches, const Seat& one, uint32_t pool) {
  const auto room =
      std::ranges::find_if(batches, [&](const Batch& batch) { return cores_of(batch) + one.grant.cores <= pool; });
  if (room != batches.end()) {
    room->push_back(one);
  } else {
    batches.push_back({one});
  }
}

void hand_out_rest(Batch& batch, uint32_t pool) {
  for (uint32_t left = pool - cores_of(batch); left > 0; --left) {
    Seat* poorest = nullptr;
    for (Seat& one : batch) {
      if (one.grant.cores == one.most) continue;
      if (poorest == nullptr || one.grant.cores < poorest->grant.cores) poorest = &one;
    }
    if (poorest == nullptr) return;
    ++poorest->grant.cores;
  }
}

}  // namespace

CoreRange core_range(Priority priority, uint32_t pool) {
  check(pool > 0, "a pool has cores");
  switch (priority) {
    case Priority::kLow: return {1, quarters(pool, 1)};
    case Priority::kNormal: return {quarters(pool, 1), quarters(pool, 3)};
    case Priority::kHigh: return {quarters(pool, 3), pool};
    case Priority::kExclusive: return {pool, pool};
    case Priority::kAuto: return {1, pool};
  }
  return {1, pool};
}

std::vector<std::vector<CoreGrant>> core_batches(const std::vector<CoreDemand>& demands, uint32_t pool) {
  std::vector<Batch> alone;
  std::vector<Seat> tests;
  for (const CoreDemand& demand : demands) {
    if (!demand.is_test) {
      place(alone, {{demand.workflow, 1}, 1, 0}, pool);
      continue;
    }
    const CoreRange range = core_range(demand.priority, pool);
    const uint32_t useful = std::max(demand.vus, 1u);
    const bool all = demand.priority == Priority::kExclusive;  // an exclusive workflow is alone
    tests.push_back({{demand.workflow, all ? pool : std::min(range.least, useful)},
                     std::min(range.most, useful),
                     rank_of(demand.priority)});
  }
  std::ranges::stable_sort(tests, [](const Seat& a, const Seat& b) { return a.rank < b.rank; });
  std::vector<Batch> together;
  for (const Seat& one : tests) place(together, one, pool);

  std::vector<std::vector<CoreGrant>> out;
  const auto write = [&out](const Batch& batch) {
    std::vector<CoreGrant>& grants = out.emplace_back();
    for (const Seat& one : batch) grants.push_back({one.grant.workflow, std::min(one.grant.cores, one.most)});
  };
  for (const Batch& batch : alone) write(batch);
  for (Batch& batch : together) {
    hand_out_rest(batch, pool);
    write(batch);
  }
  return out;
}

}  // namespace bellwether::plan
