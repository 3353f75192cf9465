// Imports arbitrary bytes; the first byte chooses the format. The result is YAML without errors, or a diagnostic.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/yaml/node.h"
#include "load/import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  namespace imports = bellwether::imports;
  if (size == 0) return 0;
  const imports::Source source{"source", std::string(reinterpret_cast<const char*>(data) + 1, size - 1)};
  const imports::Import made = data[0] == 'c'   ? imports::from_curl(source, {.keep_secrets = true})
                               : data[0] == 'h' ? imports::from_har(source, {.all = true, .pauses = true})
                               : data[0] == 'o' ? imports::from_openapi(source, {})
                                                : imports::from_postman(source, {});
  if (!made) {
    bellwether::check(!made.error().empty(), "a source is refused for a reason");
    for (const auto& diagnostic : made.error()) bellwether::check(!bellwether::yaml::format(diagnostic).empty());
    return 0;
  }
  // Wrong hosts, ports and files are errors of the scenario; its form must be right.
  bellwether::yaml::Diagnostics diagnostics("scenario.yaml");
  const auto tree = bellwether::yaml::parse_yaml(made->scenario, diagnostics);
  bellwether::check(tree && diagnostics.empty(), "an import is YAML");
  return 0;
}
