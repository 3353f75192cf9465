// Loading scenarios in tests, from texts and a world made of maps.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "load/plan/load.h"
#include "load/scenario/document.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

class FakeOutside : public scenario::Outside {
 public:
  std::optional<std::string> env(const std::string& name) const override {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  }
  Result<std::string> read_file(const std::string& path, uint64_t bytes_max) const override {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Errc::kNotFound, "no such file");
    if (found->second.size() > bytes_max) return fail(Errc::kTooLarge, "too large");
    return found->second;
  }
  Result<std::vector<std::string>> list_folder(const std::string& path, std::size_t most) const override {
    const std::string folder = path == "." ? "" : path.ends_with('/') ? path : path + "/";
    std::vector<std::string> names;
    for (auto at = files.rbegin(); at != files.rend(); ++at) {
      if (!at->first.starts_with(folder)) continue;
      const std::string name = at->first.substr(folder.size());
      if (name.find('/') == std::string::npos) names.push_back(name);
    }
    if (names.empty()) return fail(Errc::kNotFound, "no such folder");
    if (names.size() > most) return fail(Errc::kTooLarge, "too many files");
    return names;
  }

  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
};

// A scenario "shop.yaml" and the world around it.
struct TestSources : scenario::Sources {
  explicit TestSources(std::string yaml) {
    file_name = "shop.yaml";
    text = std::move(yaml);
  }
  TestSources(const TestSources&) = delete;

  tl::expected<Plan, std::vector<scenario::Diagnostic>> load() {
    outside = &world;
    return plan::load(*this);
  }
  // All diagnostics as a person sees them, one after the other; empty when there are none.
  std::string errors() {
    const auto plan = load();
    std::string out;
    if (plan) return out;
    for (const scenario::Diagnostic& diagnostic : plan.error()) out += scenario::format(diagnostic) + "\n";
    return out;
  }

  FakeOutside world;
};

// The plan of a scenario that must be right.
inline Plan plan_from(TestSources& sources) {
  auto plan = sources.load();
  if (!plan) check(false, sources.errors().c_str());
  return std::move(*plan);
}
inline Plan plan_from(const std::string& yaml) {
  TestSources sources(yaml);
  return plan_from(sources);
}
// A request of its first workflow.
inline const HttpCall& call_of(const Plan& plan, std::size_t step) {
  return std::get<HttpCall>(plan.workflows.at(0).steps.at(step).work);
}

// The template as a person would write it: {slot 0}, {vu}.
inline std::string show(const Template& text) {
  static constexpr const char* kEscapes[] = {"", "|json", "|url", "|header", "|value", "|form"};
  std::string out;
  for (const Piece& piece : text.pieces) {
    if (piece.kind == Piece::Kind::kLiteral) {
      out += piece.literal;
      continue;
    }
    if (piece.kind == Piece::Kind::kDerived) {
      out += "{of " + show(piece.derived->key) + show(piece.derived->value);
      out += std::string(kEscapes[static_cast<std::size_t>(piece.escape)]) + "}";
      continue;
    }
    out += "{";
    out += piece.kind == Piece::Kind::kSlot ? "slot " + std::to_string(piece.slot)
                                            : std::string(scenario::entry_of(piece.builtin).name);
    out += std::string(kEscapes[static_cast<std::size_t>(piece.escape)]) + "}";
  }
  return out;
}

}  // namespace bellwether::plan
