#include "load/scenario/sources.h"

namespace bellwether::scenario {

FileView view_of(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  const std::string_view bytes = *owner;
  return {bytes, std::move(owner)};
}

std::string beside(const std::string& scenario_file, const std::string& path) {
  const std::size_t slash = scenario_file.rfind('/');
  if (path.starts_with('/') || slash == std::string::npos) return path;
  return scenario_file.substr(0, slash + 1) + path;
}

Result<std::vector<std::string>> Outside::list_folder(const std::string& /*path*/, std::size_t /*most*/) const {
  return fail(Errc::kNotFound, "no such folder");
}

Result<FileView> Outside::view_file(const std::string& path, uint64_t bytes_max) const {
  BW_TRY(auto text, read_file(path, bytes_max));
  return view_of(std::move(text));
}

}  // namespace bellwether::scenario
