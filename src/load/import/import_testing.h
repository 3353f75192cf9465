// What the tests of this room share: each scenario that they make must be right.
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "load/import/import.h"
#include "load/plan/load_testing.h"

namespace bellwether::imports {

using Importer = Import (*)(const Source&, const Choices&);

// The scenario without its first line, which names the source. The names that need a value get one.
inline std::string scenario_of(Importer make, std::string_view text, const Choices& choices = {}) {
  const Import made = make({"source", std::string(text)}, choices);
  if (!made) {
    std::string out;
    for (const yaml::Diagnostic& diagnostic : made.error()) out += yaml::format(diagnostic) + "\n";
    return out;
  }
  plan::TestSources sources(made->scenario);
  for (const char* name : {"body.bin", "img/p.png", "a.png"}) sources.world.files[name] = "1";
  sources.world.files["ca.pem"] = "-----BEGIN CERTIFICATE-----\n";
  for (const std::string& name : made->unset) sources.sets.emplace_back(name, "https://value.example");
  EXPECT_EQ(sources.errors(), "") << made->scenario;
  return made->scenario.substr(made->scenario.find('\n') + 1);
}

// Its steps alone.
inline std::string steps_of(Importer make, std::string_view text, const Choices& choices = {}) {
  const std::string scenario = scenario_of(make, text, choices);
  const std::size_t steps = scenario.find("    steps:\n");
  return steps == std::string::npos ? scenario : scenario.substr(steps + 11);
}

// The warnings, a line each.
inline std::string warnings_of(Importer make, std::string_view text, const Choices& choices = {}) {
  const Import made = make({"source", std::string(text)}, choices);
  std::string out;
  if (!made) return out;
  for (const std::string& warning : made->warnings) out += warning + "\n";
  return out;
}

}  // namespace bellwether::imports
