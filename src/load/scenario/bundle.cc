#include "load/scenario/bundle.h"

#include "core/base/bytes.h"
#include "load/scenario/document.h"

namespace bellwether::scenario {
namespace {

// A folder among the files.
std::string folder_of(const std::string& path) { return path.ends_with('/') ? path : path + "/"; }

Result<std::string> joined(Result<std::vector<std::string>> names) {
  BW_TRY(const auto all, std::move(names));
  std::string out;
  for (const std::string& name : all) out += name + '\0';
  return out;
}

Result<std::vector<std::string>> cut(Result<std::string> names) {
  BW_TRY(const auto all, std::move(names));
  std::vector<std::string> out;
  for (std::string_view rest = all; !rest.empty();) out.emplace_back(take_until(rest, '\0'));
  return out;
}

}  // namespace

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

Result<std::vector<std::string>> RecordingOutside::list_folder(const std::string& path, std::size_t most) const {
  const RecordedScenario::FileQuestion question{folder_of(path), most};
  const auto known = record_.files.find(question);
  if (known != record_.files.end()) return cut(known->second);
  return cut(record_.files.emplace(question, joined(world_.list_folder(path, most))).first->second);
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
  if (record_.apart.contains({path, bytes_max})) return kElsewhere;
  return Outside::view_file(path, bytes_max);
}

Result<std::vector<std::string>> ReplayingOutside::list_folder(const std::string& path, std::size_t most) const {
  auto names = cut(read_file(folder_of(path), most));
  if (names && names->size() > most) return fail(Errc::kTooLarge, "it has more files than {}", most);
  return names;
}

Sources sources_of(const RecordedScenario& record, const Outside& outside) {
  return {.file_name = record.file_name,
          .text = record.text,
          .sets = record.sets,
          .outside = &outside,
          .overrides = record.overrides};
}

}  // namespace bellwether::scenario
