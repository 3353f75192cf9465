// The totals of a run as bytes, without loss: restored totals go on exactly as the original.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/aggregate/totals.h"
#include "load/plan/plan.h"

namespace bellwether::ingest {

inline constexpr std::size_t kMaxTotalsBytes = std::size_t{64} << 20;

// kTooLarge above kMaxTotalsBytes: a plan of very many steps, each with very many latencies.
Result<std::string> encode_totals(const aggregate::TotalsState& state);
// kProtocol, with the problem: no such bytes, bytes of another plan, or figures that contradict each other.
Result<aggregate::TotalsState> decode_totals(std::string_view bytes, const plan::Plan& plan);

}  // namespace bellwether::ingest
