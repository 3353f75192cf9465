#include "core/runtime/machine_texts.h"

#include <algorithm>
#include <dirent.h>

#include "core/base/bytes.h"

namespace bellwether::runtime {

std::vector<uint64_t> numbers_after(std::string_view text, std::string_view key) {
  std::vector<uint64_t> out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      const std::string_view word = line.substr(0, line.find_first_of(" \t"));
      const auto number = parse_u64(word);
      if (!number) return out;
      out.push_back(*number);
      line.remove_prefix(word.size());
    }
  }
  return out;
}

std::optional<uint64_t> number_after(std::string_view text, std::string_view key) {
  const std::vector<uint64_t> found = numbers_after(text, key);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::optional<std::string> group_of(std::string_view cgroup) {
  const auto begin = cgroup.starts_with("0::") ? 0 : cgroup.find("\n0::");
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view line = cgroup.substr(begin == 0 ? 3 : begin + 4);
  line = line.substr(0, line.find('\n'));
  return line.starts_with('/') ? std::optional<std::string>(line) : std::nullopt;
}

uint64_t entries_of(const char* folder) {
  DIR* const entries = ::opendir(folder);
  if (entries == nullptr) return 0;
  uint64_t count = 0;
  while (::readdir(entries) != nullptr) ++count;
  ::closedir(entries);
  return count - std::min<uint64_t>(count, 2);
}

}  // namespace bellwether::runtime
