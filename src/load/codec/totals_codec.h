// What a run has measured so far as bytes, without loss: totals that are restored elsewhere go on exactly as the
// original would have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/aggregate/totals.h"
#include "load/plan/plan.h"

namespace bellwether::account {

inline constexpr std::size_t kMostTotalsBytes = std::size_t{64} << 20;

// kTooLarge above kMostTotalsBytes: a plan of very many steps, each with very many latencies.
Result<std::string> encode_totals(const aggregate::TotalsState& state);
// kProtocol, with what is wrong: not such bytes, those of another plan, or figures that contradict each other.
Result<aggregate::TotalsState> decode_totals(std::string_view bytes, const plan::Plan& plan);

}  // namespace bellwether::account
