// The bytes of a bundle (load/scenario/bundle.h). Equal bundles have equal bytes, so their hash identifies them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/scenario/bundle.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMaxScenarioBytes = std::size_t{4} << 20;  // of the text of the scenario file
inline constexpr std::size_t kMaxBundleBytes = std::size_t{16} << 20;   // of all that is sent
inline constexpr std::size_t kMaxBundleEntries = 10'000;                // files, variables, --set, headers: of each

// kTooLarge, with the element and its maximum.
Result<std::string> encode_bundle(const scenario::Bundle& bundle);
// kProtocol names the fault. plan::plan_of() says whether a plan can be made of it.
Result<scenario::Bundle> decode_bundle(std::string_view bytes);

// SHA-256 of the bytes, as hexadecimal digits.
std::string bundle_hash(std::string_view bytes);

}  // namespace bellwether::dispatch
