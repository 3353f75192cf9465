// Well-known ways to bind the kernels of a node to the world wrong, each as a switch of the simulated cluster, which
// must find every one of them out.
#pragma once

#include <cstdint>
#include <string_view>

namespace bellwether::sim {

enum class ClusterMistake : uint8_t {
  kNone,
  kConfirmsBeforeDurable,  // the disk says that it has written what is only in memory
  kDeathIsProof,           // that membership holds a leader dead is told to the election as a proof
  kActsOnAfterTerm,        // the work does not stop when its term has ended
};
inline constexpr int kClusterMistakes = static_cast<int>(ClusterMistake::kActsOnAfterTerm) + 1;

std::string_view to_string(ClusterMistake mistake);

}  // namespace bellwether::sim
