// The bytes of a bundle (load/scenario/bundle.h). The same bundle is the same bytes, so that their
// hash names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/scenario/bundle.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMostScenarioBytes = std::size_t{4} << 20;  // of the text of the scenario file
inline constexpr std::size_t kMostBundleBytes = std::size_t{16} << 20;   // of all that travels
inline constexpr std::size_t kMostBundleEntries = 10'000;                // files, variables, --set, headers: of each

// kTooLarge, with what is too large and the greatest of it.
Result<std::string> encode_bundle(const scenario::Bundle& bundle);
// kProtocol, with what is wrong. Whether a plan can be made of it, plan::plan_of() says.
Result<scenario::Bundle> decode_bundle(std::string_view bytes);

// SHA-256 of the bytes, as hexadecimal digits.
std::string bundle_hash(std::string_view bytes);

}  // namespace bellwether::dispatch
