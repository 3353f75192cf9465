#include "cluster/node/secrets.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/runtime/epoll/files.h"
#include "core/secret/key_codec.h"

namespace bellwether::node {

namespace {

using runtime::Descriptor;
using secret::SecretBytes;

// `forbidden`: bits of the mode that must not be there; `remedy`: the mode that should be.
Result<SecretBytes> read_guarded(const std::string& path, std::size_t most, unsigned forbidden, const char* remedy) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return fail_errno(errno, fmt::format("reading '{}'", path));
  const Descriptor file(opened, path);
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return fail_errno(errno, fmt::format("reading '{}'", path));
  if (!S_ISREG(status.st_mode)) return fail(Errc::kInvalid, "'{}' is not a file", path);
  if ((status.st_mode & forbidden) != 0) {
    return fail(Errc::kInvalid, "'{}' can be {} by others: chmod {} '{}'", path, forbidden == 077U ? "read" : "changed",
                remedy, path);
  }
  if (static_cast<std::size_t>(status.st_size) > most) {
    return fail(Errc::kTooLarge, "'{}' has {} bytes; expected at most {}", path, status.st_size, most);
  }
  SecretBytes bytes(static_cast<std::size_t>(status.st_size));
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = ::read(file.fd, bytes.bytes().data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, fmt::format("reading '{}'", path));
    if (n == 0) return fail(Errc::kIo, "'{}' became shorter while it was read", path);
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
  if (opened < 0) return fail_errno(errno, fmt::format("the folder '{}'", folder));
  const Descriptor file(opened, folder);
  return ::fsync(file.fd) == 0 ? Status() : Status(fail_errno(errno, fmt::format("the folder '{}'", folder)));
}

namespace fs = std::filesystem;

// A user who may change the keys decides which programs run here.
Status check_owners(const std::string& path, const struct stat& status) {
  if ((status.st_mode & S_IWOTH) == 0) return {};
  return fail(Errc::kInvalid, "'{}' can be changed by every user: chmod o-w '{}'", path, path);
}

Result<std::vector<signature::PublicKey>> read_file(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  struct stat status {};
  if (::fstat(fileno(file.get()), &status) != 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  BW_RETURN_IF_ERROR(check_owners(path, status));
  std::string text(signature::kMaxKeyFileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  return signature::read_public_keys(text, path);
}

Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::error_code wrong;
  std::vector<std::string> out;
  for (fs::directory_iterator at(folder, wrong), end; !wrong && at != end; at.increment(wrong)) {
    const std::string extension = at->path().extension().string();
    if (extension == ".pub" || extension == ".pem") out.push_back(at->path().string());
    if (out.size() > signature::kMaxKeys) {
      return fail(Errc::kTooLarge, "'{}' has more than {} keys", folder, signature::kMaxKeys);
    }
  }
  if (wrong) return fail(Errc::kIo, "cannot read the folder '{}': {}", folder, wrong.message());
  if (out.empty()) return fail(Errc::kInvalid, "the folder '{}' has no files *.pub or *.pem", folder);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<std::string> read_secret_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    return fail(
        Errc::kNotFound,
        "there is no secret in '{}'; copy it from another node, or make the first one: openssl rand -base64 32 > "
        "'{}' && chmod 600 '{}'",
        path, path, path);
  }
  if (fd < 0) return fail_errno(errno, fmt::format("the secret in '{}'", path));
  struct stat status {};
  const bool looked = ::fstat(fd, &status) == 0;
  std::string text(wire::kMaxSecret + 2, '\0');
  const ssize_t size = ::read(fd, text.data(), text.size());
  ::close(fd);
  if (!looked || size < 0) return fail(Errc::kIo, "the secret in '{}' cannot be read", path);
  if ((status.st_mode & 077U) != 0) {
    return fail(Errc::kInvalid, "the secret in '{}' can be read by others: chmod 600 '{}'", path, path);
  }
  text.resize(static_cast<std::size_t>(size));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

namespace {

// From the file when one is named, else from the variable; nothing when both are missing.
Result<std::optional<wire::Secret>> read(const std::string& file, const char* variable,
                                         cluster::Settings::Environment environment) {
  std::string text;
  std::string where;
  if (!file.empty()) {
    BW_TRY(text, read_secret_file(file));
    where = fmt::format("the secret in '{}'", file);
  } else if (const char* given = environment(variable); given != nullptr && *given != '\0') {
    text = given;
    where = std::string("the secret in the variable ") + variable;
  } else {
    return std::nullopt;
  }
  auto secret = wire::Secret::take(std::move(text));
  if (!secret) return fail(Errc::kInvalid, "{}: {}", where, secret.error().message);
  return std::optional<wire::Secret>(std::move(*secret));
}

}  // namespace

Result<wire::Keyring> read_secrets(const cluster::NodeConfig& config, cluster::Settings::Environment environment) {
  BW_TRY(auto secret, read(config.secret_file, cluster::kSecretVariable, environment));
  if (!secret) {
    return fail(Errc::kInvalid, fmt::format("the cluster's shared secret is missing: name its file with secret.file, "
                                            "or set the variable {}. To make one:  openssl rand -base64 32",
                                            cluster::kSecretVariable));
  }
  wire::Keyring keyring(std::move(*secret));
  BW_TRY(auto previous, read(config.previous_secret_file, cluster::kPreviousSecretVariable, environment));
  if (previous) {
    BW_RETURN_IF_ERROR(keyring.learn(std::move(*previous)));
  }
  return keyring;
}

Result<SecretBytes> read_secret_bytes(const std::string& path, std::size_t most) {
  return read_guarded(path, most, 077U, "600");
}

Result<secret::KeyShare> read_key_share(const std::string& path) {
  BW_TRY(const auto bytes, read_secret_bytes(path, secret::kMaxKeyShareBytes));
  auto share = secret::decode_key_share(bytes.bytes());
  if (!share) return fail(share.error().code, "'{}': {}", path, share.error().message);
  return share;
}

Result<secret::Commitment> read_commitment(const std::string& path) {
  BW_TRY(const auto bytes, read_guarded(path, secret::kMaxCommitmentBytes, 022U, "go-w"));
  auto commitment = secret::decode_commitment(bytes.bytes());
  if (!commitment) return fail(commitment.error().code, "'{}': {}", path, commitment.error().message);
  return commitment;
}

Status write_new_file(const std::string& path, Bytes bytes, uint32_t mode) {
  const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(mode));
  if (opened < 0 && errno == EEXIST) {
    return fail(Errc::kExists, "'{}' exists and is not overwritten: move it away first", path);
  }
  if (opened < 0) return fail_errno(errno, fmt::format("writing '{}'", path));
  const Descriptor file(opened, path);
  Status done = write_all(file.fd, bytes);
  if (done) done = sync_folder_of(path);
  if (done) return {};
  ::unlink(path.c_str());
  return fail(done.error().code, "'{}': {}", path, done.error().message);
}

Result<std::vector<signature::PublicKey>> read_keyring(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
  if (!S_ISDIR(status.st_mode)) return read_file(path);
  BW_RETURN_IF_ERROR(check_owners(path, status));
  BW_TRY(const auto files, files_in(path));
  std::vector<signature::PublicKey> out;
  for (const std::string& file : files) {
    const auto keys = read_file(file);
    if (!keys) return keys;
    out.insert(out.end(), keys->begin(), keys->end());
    if (out.size() > signature::kMaxKeys) {
      return fail(Errc::kTooLarge, "'{}' has more than {} keys", path, signature::kMaxKeys);
    }
  }
  return out;
}

}  // namespace bellwether::node
