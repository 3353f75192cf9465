#include "cluster/local_cluster/folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <openssl/rand.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/result.h"
#include "core/runtime/certificates.h"

namespace bellwether::local_cluster {
namespace {

namespace fs = std::filesystem;

constexpr int kTenYears = 3650;  // in days
constexpr const char* kLock = "lock";
constexpr const char* kRecord = "cluster.json";
constexpr std::size_t kMaxRecord = std::size_t{1} << 20;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kLastWords = 2'000;

tl::unexpected<Error> failed(const std::error_code& code, const std::string& what) {
  return fail_errno(code.value(), what);
}

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, fmt::format("writing '{}'", path));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return fail_errno(errno, fmt::format("writing '{}'", path));
  return {};
}

// Replaces the present file by another one.
Status write_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail_errno(errno, fmt::format("writing '{}'", path));
  Status done = write_all(fd, text, path);
  ::close(fd);
  if (done && ::rename(fresh.c_str(), path.c_str()) != 0) done = fail_errno(errno, fmt::format("writing '{}'", path));
  if (!done) ::unlink(fresh.c_str());
  return done;
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, fmt::format("reading '{}'", path));
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const ssize_t n = ::read(fd, text.data() + size, most - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  ::close(fd);
  text.resize(size);
  return text;
}

Result<std::string> new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return fail(Errc::kIo, "the system's source of randomness failed");
  return base64_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + "\n";
}

tl::unexpected<Error> not_ours(const std::string& folder) {
  return fail(Errc::kInvalid,
              fmt::format("'{}' contains other files: name an empty or a new folder with --cluster", folder));
}

// Leaves nothing behind in a folder of another user, not even a lock.
Status make_folder(const std::string& path) {
  std::error_code code;
  fs::create_directories(fs::path(path).parent_path(), code);
  if (code) return failed(code, fmt::format("making the folder '{}'", path));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno(errno, fmt::format("making the folder '{}'", path));
  const bool empty = fs::is_empty(path, code);
  if (code) return failed(code, fmt::format("reading '{}'", path));
  const bool ours = empty || fs::exists(fmt::format("{}/{}", path, kRecord), code) ||
                    fs::exists(fmt::format("{}/{}", path, kLock), code);
  return ours ? Status() : not_ours(path);
}

// All files of one node or client, but for its data.
std::vector<std::string> files_of(const std::string& name) {
  return {name + ".yaml", name + ".pem", name + "-key.pem", name + ".log"};
}

}  // namespace

Folder::~Folder() {
  if (lock_ >= 0) ::close(lock_);
}

Folder::Folder(Folder&& other) noexcept : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

Result<Folder> Folder::open(const std::string& path, Use use) {
  std::error_code code;
  const std::string absolute = fs::absolute(path, code).lexically_normal().string();
  if (code) return failed(code, fmt::format("'{}'", path));
  if (use == Use::kMake) {
    BW_RETURN_IF_ERROR(make_folder(absolute));
  } else if (!fs::exists(fmt::format("{}/{}", absolute, kRecord), code)) {
    return fail(Errc::kNotFound, "there is no local cluster in '{}'; `bellwether cluster up` starts one", absolute);
  }
  Folder folder(absolute, -1);
  if (use == Use::kLook) return folder;
  folder.lock_ =
      ::open((fmt::format("{}/{}", absolute, kLock)).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (folder.lock_ < 0) return fail_errno(errno, fmt::format("locking '{}'", absolute));
  if (::flock(folder.lock_, LOCK_EX | LOCK_NB) != 0) {
    return fail(Errc::kExists, "another `bellwether cluster up` or `down` is using '{}'", absolute);
  }
  return folder;
}

Result<std::optional<Layout>> Folder::read() const {
  const std::string record = fmt::format("{}/{}", path_, kRecord);
  if (::access(record.c_str(), F_OK) != 0) {
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, code)) {
      if (entry.path().filename() == kLock) continue;
      return not_ours(path_);
    }
    if (code) return failed(code, fmt::format("reading '{}'", path_));
    return std::nullopt;
  }
  BW_TRY(const auto text, read_file(record, kMaxRecord));
  auto layout = decode_layout(text);
  if (!layout) return fail(layout.error().code, "'{}' cannot be read: {}", record, layout.error().message);
  return std::optional<Layout>(std::move(*layout));
}

Status Folder::write(const Layout& layout) const {
  return write_file(fmt::format("{}/{}", path_, kRecord), encode_layout(layout));
}

Status Folder::furnish(const Layout& layout) const {
  BW_TRY(const auto secret, new_secret());
  Status done = write_file(path_ + "/secret", secret);
  if (!done) return done;
  if (layout.shape.tls) {
    BW_TRY(const auto authority,
           runtime::make_certificate({.name = "bellwether local cluster", .authority = true, .days = kTenYears}));
    done = write_file(path_ + "/ca.pem", authority.certificate);
    const auto certify = [&](const std::string& name, const std::string& names) -> Status {
      BW_TRY(const auto issued,
             runtime::make_certificate({.name = name, .alternatives = names, .days = kTenYears}, &authority));
      Status written = write_file(fmt::format("{}/{}.pem", path_, name), issued.certificate);
      if (written) written = write_file(fmt::format("{}/{}-key.pem", path_, name), issued.key);
      return written;
    };
    for (const LocalNode& node : layout.nodes) {
      if (done) done = certify(node.name, certificate_names(node));
    }
    if (done) done = certify(kClientName, client_certificate_names());
  }
  for (const LocalNode& node : layout.nodes) {
    if (done) done = write_file(settings_of(node.name), local_cluster::settings_of(layout, node, path_));
  }
  if (done) done = write_file(settings_of(kClientName), client_settings(layout, path_));
  return done;
}

Result<bool> Folder::purge(const Layout& layout) const {
  std::error_code code;
  std::vector<std::string> files = {"secret", "ca.pem"};
  for (const std::string& file : files_of(kClientName)) files.push_back(file);
  for (const LocalNode& node : layout.nodes) {
    for (const std::string& file : files_of(node.name)) files.push_back(file);
    fs::remove_all(fmt::format("{}/{}", path_, node.name), code);
    if (code) return failed(code, fmt::format("removing '{}/{}'", path_, node.name));
  }
  // The record last: until then it identifies the folder as ours.
  files.insert(files.end(), {kRecord, kLock});
  for (const std::string& file : files) {
    fs::remove(fmt::format("{}/{}", path_, file), code);
    if (code) return failed(code, fmt::format("removing '{}/{}'", path_, file));
  }
  return ::rmdir(path_.c_str()) == 0;
}

std::string Folder::last_lines(const LocalNode& node) const {
  const int fd = ::open(log_of(node).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(kLastWords, '\0');
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const ssize_t n = ::pread(fd, text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(text.size())));
  ::close(fd);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(printable(text.substr(at, end - at)));
    at = end + 1;
  }
  std::string out;
  for (std::size_t i = lines.size() > 4 ? lines.size() - 4 : 0; i < lines.size(); ++i) out += "\n  " + lines[i];
  return out;
}

}  // namespace bellwether::local_cluster
