#include "core/runtime/folders.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "core/runtime/descriptor.h"

namespace bellwether::runtime {
namespace {

constexpr std::size_t kMostNames = 100'000;

Status sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "opening folder '" + path + "'");
  const Descriptor folder(fd, path);
  if (::fsync(fd) == 0) return {};
  return fail_errno(errno, "syncing folder '" + path + "'");
}

std::string parent_of(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A folder that another process makes at the same time is as good as ours, once its name is safe too.
Status make_folders(const std::string& path, mode_t mode) {
  int error = ::mkdir(path.c_str(), mode) == 0 ? 0 : errno;
  if (error == EEXIST && is_folder(path)) return {};
  const std::string parent = parent_of(path);
  if (error == ENOENT && parent != path) {
    BW_RETURN_IF_ERROR(make_folders(parent, mode));
    error = ::mkdir(path.c_str(), mode) == 0 ? 0 : errno;
  }
  if (error == 0 || (error == EEXIST && is_folder(path))) return sync_folder(parent);
  if (error == EEXIST) return fail(Errc::kExists, "making folder '" + path + "': there is something else of that name");
  return fail_errno(error, "making folder '" + path + "'");
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

Result<std::vector<std::string>> read_folder(const std::string& path) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) return fail_errno(errno, "opening folder '" + path + "'");
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return fail_errno(errno, "reading folder '" + path + "'");
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMostNames) {
      return fail(Errc::kTooLarge, "reading folder '" + path + "': it has more than " + std::to_string(kMostNames) +
                                       " names; remove what is not needed any more");
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

task<Status> rename_file(BlockingPool& pool, std::string from, std::string to) {
  auto operation = [from, to]() -> Status {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return fail_errno(errno, "renaming '" + from + "' to '" + to + "'");
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> remove_file(BlockingPool& pool, std::string path) {
  auto operation = [path]() -> Status {
    if (::unlink(path.c_str()) == 0) return {};
    return fail_errno(errno, "removing '" + path + "'");
  };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> sync_directory(BlockingPool& pool, std::string path) {
  auto operation = [path] { return sync_folder(path); };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Status> make_directory(BlockingPool& pool, std::string path, uint32_t mode) {
  auto operation = [path, mode] { return make_folders(path, static_cast<mode_t>(mode)); };
  Status done = co_await pool.run(std::move(operation));
  co_return done;
}

task<Result<std::vector<std::string>>> list_directory(BlockingPool& pool, std::string path) {
  auto operation = [path] { return read_folder(path); };
  auto names = co_await pool.run(std::move(operation));
  co_return names;
}

}  // namespace bellwether::runtime
