#include "node/client/folder_names.h"

#include <cerrno>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>

namespace bellwether::client::detail {
namespace {

bool is_file(DIR* folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return true;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return false;
  struct stat status {};
  return ::fstatat(::dirfd(folder), entry.d_name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

bellwether::Result<std::vector<std::string>> names_in_folder(const std::string& path, std::size_t most) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return fail_errno(errno, "cannot read the folder '" + path + "'");
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.' && is_file(folder.get(), *entry)) names.emplace_back(entry->d_name);
    if (names.size() > most) {
      return fail(Errc::kTooLarge, "'" + path + "' has more than " + std::to_string(most) + " files");
    }
    errno = 0;
  }
  if (errno != 0) return fail_errno(errno, "cannot read the folder '" + path + "'");
  return names;
}

}  // namespace bellwether::client::detail
