// The bytes of a bundle (load/scenario/bundle.h). Equal bundles have equal bytes, so their hash identifies them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"
#include "load/scenario/bundle.h"

namespace bellwether::dispatch {

inline constexpr std::size_t kMaxScenarioBytes = std::size_t{4} << 20;  // of the text of the scenario file
inline constexpr std::size_t kMaxBundleBytes = std::size_t{16} << 20;   // of all that is sent
inline constexpr std::size_t kMaxFileInside = std::size_t{128} << 10;   // larger ones may travel beside the bundle
inline constexpr uint64_t kMaxBytesBeside = uint64_t{64} << 30;         // of all these files of a bundle
inline constexpr std::size_t kMaxBundleEntries = 10'000;                // files, variables, --set, headers: of each

// A data file whose content travels beside the bundle, which names it.
struct FileBeside {
  std::string path;  // as in the scenario
  FileRef file;
  scenario::FileView view;
};
// kTooLarge, with the element and its maximum. With `beside`, a bundle that would be too large leaves out the data
// files of more than kMaxFileInside, and these are appended. Computes their hashes: it takes a second for each GiB.
Result<std::string> encode_bundle(const scenario::Bundle& bundle, std::vector<FileBeside>* beside = nullptr);
// The files that travel beside the bundle, each once.
std::vector<FileRef> files_beside(const scenario::Bundle& bundle);
// kProtocol names the fault. plan::plan_of() says whether a plan can be made of it.
Result<scenario::Bundle> decode_bundle(std::string_view bytes);

// SHA-256 of the bytes, as hexadecimal digits.
std::string bundle_hash(std::string_view bytes);

}  // namespace bellwether::dispatch
