// What is seen of the loops of a policy sheet: their keys, and the data that they guard.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "election/lease_record.h"
#include "lead/policy/policy.h"

namespace bellwether::cli {

struct IdleData {
  std::string data;
  Result<Duration> time = Duration::zero();
};

struct LoopRow {
  lead::LoopPolicy loop;  // with a store
  Result<election::Observation> seen = fail(Errc::kIo, "not looked at");
  std::vector<IdleData> idle;  // what the loop guards, where its store counts how long that is idle
};

// Looks at all of them at once, at each for at most `timeout`.
runtime::task<void> look_at_loops(runtime::Runtime& runtime, std::vector<LoopRow>& rows, Duration timeout);

// "snapshot 5s, queue (not there)"; "-" when nothing is known.
std::string idle_text(const LoopRow& row);

}  // namespace bellwether::cli
