// Bytes as TOML: either a map within the limits, whose marks are places in a file, or an error that says something.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/yaml/node.h"

namespace {

using bellwether::check;
using bellwether::yaml::Node;

std::size_t count(const Node& node, int depth) {
  check(depth <= bellwether::yaml::kMaxDepth + 2, "what is nested is bounded");
  check(node.mark.line >= 0 && node.mark.column >= 0, "a mark is a place");
  std::size_t all = 1;
  for (const Node& item : node.items) all += count(item, depth + 1);
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::yaml;
  Diagnostics diagnostics("node.toml");
  const auto root = parse_toml({reinterpret_cast<const char*>(data), size}, diagnostics);
  check(root.has_value() || !diagnostics.empty(), "what cannot be used is told");
  if (root) {
    check(root->is_map(), "a document is a map");
    check(count(*root, 0) <= kMaxNodes, "a tree is bounded");
  }
  for (const Diagnostic& one : diagnostics.take()) check(!format(one).empty(), "an error says something");
  return 0;
}
