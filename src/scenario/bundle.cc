#include "scenario/bundle.h"

#include "scenario/document.h"

namespace bellwether::scenario {

std::optional<std::string> RecordingOutside::env(const std::string& name) const {
  const auto known = record_.variables.find(name);
  if (known != record_.variables.end()) return known->second;
  return record_.variables.emplace(name, world_.env(name)).first->second;
}

Result<std::string> RecordingOutside::read_file(const std::string& path, uint64_t bytes_max) const {
  const auto known = record_.files.find({path, bytes_max});
  if (known != record_.files.end()) return known->second;
  auto answer = world_.read_file(path, bytes_max);
  return record_.files.emplace(RecordedScenario::FileQuestion{path, bytes_max}, std::move(answer)).first->second;
}

Result<FileView> RecordingOutside::view_file(const std::string& path, uint64_t bytes_max) const {
  const auto known = record_.views.find({path, bytes_max});
  if (known != record_.views.end()) return known->second;
  auto answer = world_.view_file(path, bytes_max);
  return record_.views.emplace(RecordedScenario::FileQuestion{path, bytes_max}, std::move(answer)).first->second;
}

std::optional<std::string> ReplayingOutside::env(const std::string& name) const {
  const auto known = record_.variables.find(name);
  return known == record_.variables.end() ? std::nullopt : known->second;
}

Result<std::string> ReplayingOutside::read_file(const std::string& path, uint64_t bytes_max) const {
  const auto known = record_.files.find({path, bytes_max});
  if (known != record_.files.end()) return known->second;
  return fail(Errc::kNotFound, "it does not travel with the scenario");
}

Result<FileView> ReplayingOutside::view_file(const std::string& path, uint64_t bytes_max) const {
  const auto known = record_.views.find({path, bytes_max});
  if (known != record_.views.end()) return known->second;
  return Outside::view_file(path, bytes_max);
}

Sources sources_of(const RecordedScenario& record, const Outside& outside) {
  return {.file_name = record.file_name,
          .text = record.text,
          .sets = record.sets,
          .outside = &outside,
          .overrides = record.overrides};
}

}  // namespace bellwether::scenario
