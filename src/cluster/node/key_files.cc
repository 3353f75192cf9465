#include "cluster/node/key_files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/runtime/epoll/descriptor.h"
#include "core/secret/key_codec.h"

namespace bellwether::node {
namespace {

using runtime::Descriptor;
using secret::SecretBytes;

// `forbidden`: bits of the mode that must not be there; `remedy`: the mode that should be.
Result<SecretBytes> read_guarded(const std::string& path, std::size_t most, unsigned forbidden, const char* remedy) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return fail_errno(errno, "reading '" + path + "'");
  const Descriptor file(opened, path);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return fail_errno(errno, "reading '" + path + "'");
  if (!S_ISREG(status.st_mode)) return fail(Errc::kInvalid, "'" + path + "' is not a file");
  if ((status.st_mode & forbidden) != 0) {
    return fail(Errc::kInvalid, "'" + path + "' can be " + (forbidden == 077U ? "read" : "changed") +
                                    " by others: chmod " + remedy + " '" + path + "'");
  }
  if (static_cast<std::size_t>(status.st_size) > most) {
    return fail(Errc::kTooLarge, "'" + path + "' has " + std::to_string(status.st_size) + " bytes, where at most " +
                                     std::to_string(most) + " are expected");
  }
  SecretBytes bytes(static_cast<std::size_t>(status.st_size));
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::read(file.fd, bytes.bytes().data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "reading '" + path + "'");
    if (n == 0) return fail(Errc::kIo, "'" + path + "' became shorter while it was read");
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

Status write_all(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "writing");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ::fsync(fd) == 0 ? Status() : Status(fail_errno(errno, "writing"));
}

Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return fail_errno(errno, "the folder '" + folder + "'");
  const Descriptor file(opened, folder);
  return ::fsync(file.fd) == 0 ? Status() : Status(fail_errno(errno, "the folder '" + folder + "'"));
}

}  // namespace

Result<SecretBytes> read_secret_bytes(const std::string& path, std::size_t most) {
  return read_guarded(path, most, 077U, "600");
}

Result<secret::KeyShare> read_key_share(const std::string& path) {
  BW_TRY(const auto bytes, read_secret_bytes(path, secret::kMostKeyShareBytes));
  auto share = secret::decode_key_share(bytes.bytes());
  if (!share) return fail(share.error().code, "'" + path + "': " + share.error().message);
  return share;
}

Result<secret::Commitment> read_commitment(const std::string& path) {
  BW_TRY(const auto bytes, read_guarded(path, secret::kMostCommitmentBytes, 022U, "go-w"));
  auto commitment = secret::decode_commitment(bytes.bytes());
  if (!commitment) return fail(commitment.error().code, "'" + path + "': " + commitment.error().message);
  return commitment;
}

Status write_new_file(const std::string& path, Bytes bytes, uint32_t mode) {
  const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode));
  if (opened < 0 && errno == EEXIST) {
    return fail(Errc::kExists, "'" + path + "' is there already, and nothing is overwritten: move it away first");
  }
  if (opened < 0) return fail_errno(errno, "writing '" + path + "'");
  const Descriptor file(opened, path);
  Status done = write_all(file.fd, bytes);
  if (done) done = sync_folder_of(path);
  if (done) return {};
  ::unlink(path.c_str());
  return fail(done.error().code, "'" + path + "': " + done.error().message);
}

}  // namespace bellwether::node
