#include "core/runtime/epoll/machine_texts.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

#include "core/base/bytes.h"

namespace bellwether::runtime {

namespace {

constexpr uint64_t kFuse = 0x65735546;
constexpr std::size_t kMaxMountinfo = 16 << 20;

constexpr std::pair<uint64_t, std::string_view> kNetworkKinds[] = {
    {0x6969, "nfs"},       {0xff534d42, "cifs"},   {0xfe534d42, "smb2"},   {0x517b, "smb"},
    {0x01021997, "9p"},    {0x00c36400, "ceph"},   {0x0bd00bd0, "lustre"}, {0x5346414f, "afs"},
    {0x6b414653, "afs"},   {0x73757245, "coda"},   {0x564c, "ncp"},        {0x01161970, "gfs2"},
    {0x7461636f, "ocfs2"}, {0x47504653, "gpfs"},   {0x19830326, "beegfs"}, {0x20030528, "orangefs"},
    {0xaad7aaea, "panfs"}, {0x786f4256, "vboxsf"}, {0xbacbacbc, "vmhgfs"},
};

// Cuts the text up to `delimiter` off the front of `rest`, and the delimiter with it.
std::string_view cut(std::string_view& rest, std::string_view delimiter) {
  const std::size_t end = rest.find(delimiter);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + delimiter.size());
  return part;
}

Result<std::string> look_up_kind(const std::string& path) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0)
    return fail_errno(errno, fmt::format("asking for the file system of '{}'", path));
  // The field's type is signed and as wide as the machine likes; the number has 32 bits.
  const auto magic = static_cast<uint32_t>(system.f_type);
  if (!needs_mounted_type(magic)) return network_kind(magic, {});
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, fmt::format("looking at '{}'", path));
  const std::string mounts = read_system_text("/proc/self/mountinfo", kMaxMountinfo);
  return network_kind(magic, mounted_type(mounts, major(status.st_dev), minor(status.st_dev)));
}

}  // namespace

std::string read_system_text(const char* path, std::size_t most) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char buffer[4096];
  while (text.size() < most) {
    const ssize_t n = ::read(fd, buffer, std::min(sizeof buffer, most - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return text;
}

std::vector<uint64_t> numbers_after(std::string_view text, std::string_view key) {
  std::vector<uint64_t> out;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
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

std::string network_kind(uint64_t magic, std::string_view type) {
  if (magic == kFuse) {
    if (type == "fuseblk") return {};
    return std::string(type.empty() ? "fuse" : type);
  }
  for (const auto& [number, kind] : kNetworkKinds) {
    if (number == magic) return std::string(kind);
  }
  return {};
}

bool needs_mounted_type(uint64_t magic) { return magic == kFuse; }

// A line: "36 35 98:0 /root /mount/point options [optional fields] - type source more". Spaces in names are escaped.
std::string_view mounted_type(std::string_view mountinfo, unsigned device_major, unsigned device_minor) {
  const std::string device = fmt::format("{}:{}", device_major, device_minor);
  while (!mountinfo.empty()) {
    std::string_view line = cut(mountinfo, "\n");
    cut(line, " ");
    cut(line, " ");
    if (cut(line, " ") != device) continue;
    cut(line, " - ");
    return cut(line, " ");
  }
  return {};
}

task<Result<std::string>> network_file_system(BlockingPool& pool, std::string path) {
  auto operation = [path] { return look_up_kind(path); };
  auto kind = co_await pool.run(std::move(operation));
  co_return kind;
}

}  // namespace bellwether::runtime
