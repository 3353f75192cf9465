// Scenario files made of what other tools write: curl command lines, recordings of browsers (HAR), OpenAPI documents
// and collections of Postman. Text in, text out: nothing here reads a file or sends a request.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/yaml/diagnostic.h"

namespace bellwether::imports {

struct Source {
  std::string name;  // in messages and in the comment of the scenario: "shop.har"
  std::string text;
};

struct Choices {
  bool keep_secrets = false;       // write passwords and tokens into the scenario, instead of names without values
  bool all = false;                // HAR: keep static content and preflight requests
  bool pauses = false;             // HAR: pauses between requests become `think`
  std::vector<std::string> hosts;  // HAR: only these and their subdomains; empty: all
};

struct Imported {
  std::string scenario;
  std::size_t steps = 0;
  std::vector<std::string> warnings;  // what the scenario lacks, a sentence each
  std::vector<std::string> unset;     // names of `env` that need a value before the run
};

// The errors are in the order of the text, at most yaml::Diagnostics::kMaxDiagnostics.
using Import = tl::expected<Imported, std::vector<yaml::Diagnostic>>;

// Sources longer than this are refused.
constexpr std::size_t kMaxSourceBytes = 64u << 20;

// One or more command lines, as a shell reads them.
Import from_curl(const Source& source, const Choices& choices);
// Version 1.2.
Import from_har(const Source& source, const Choices& choices);
// Version 3.0 or 3.1, as JSON or YAML.
Import from_openapi(const Source& source, const Choices& choices);
// Version 2.0 or 2.1.
Import from_postman(const Source& source, const Choices& choices);

}  // namespace bellwether::imports
