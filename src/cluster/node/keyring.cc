#include "cluster/node/keyring.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <system_error>

namespace bellwether::node {
namespace {

namespace fs = std::filesystem;

// Who may change it decides what runs here.
Status check_owners(const std::string& path, const struct stat& status) {
  if ((status.st_mode & S_IWOTH) == 0) return {};
  return fail(Errc::kInvalid, "'" + path + "' can be changed by anybody: chmod o-w '" + path + "'");
}

Result<std::vector<signature::PublicKey>> read_file(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return fail_errno(errno, "cannot read '" + path + "'");
  struct stat status {};
  if (::fstat(fileno(file.get()), &status) != 0) return fail_errno(errno, "cannot read '" + path + "'");
  BW_RETURN_IF_ERROR(check_owners(path, status));
  std::string text(signature::kKeyFileBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return fail_errno(errno, "cannot read '" + path + "'");
  return signature::read_public_keys(text, path);
}

Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::error_code wrong;
  std::vector<std::string> out;
  for (fs::directory_iterator at(folder, wrong), end; !wrong && at != end; at.increment(wrong)) {
    const std::string extension = at->path().extension().string();
    if (extension == ".pub" || extension == ".pem") out.push_back(at->path().string());
    if (out.size() > signature::kKeysMost) {
      return fail(Errc::kTooLarge, "'" + folder + "' has more than " + std::to_string(signature::kKeysMost) + " keys");
    }
  }
  if (wrong) return fail(Errc::kIo, "cannot read the folder '" + folder + "': " + wrong.message());
  if (out.empty()) return fail(Errc::kInvalid, "the folder '" + folder + "' has no files *.pub or *.pem");
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<std::vector<signature::PublicKey>> read_keyring(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, "cannot read '" + path + "'");
  if (!S_ISDIR(status.st_mode)) return read_file(path);
  BW_RETURN_IF_ERROR(check_owners(path, status));
  BW_TRY(const auto files, files_in(path));
  std::vector<signature::PublicKey> out;
  for (const std::string& file : files) {
    const auto keys = read_file(file);
    if (!keys) return keys;
    out.insert(out.end(), keys->begin(), keys->end());
    if (out.size() > signature::kKeysMost) {
      return fail(Errc::kTooLarge, "'" + path + "' has more than " + std::to_string(signature::kKeysMost) + " keys");
    }
  }
  return out;
}

}  // namespace bellwether::node
