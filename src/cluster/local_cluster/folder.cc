#include "cluster/local_cluster/folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <openssl/rand.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/result.h"
#include "core/runtime/certificates.h"
#include "core/runtime/processes.h"

namespace bellwether::local_cluster {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

// In JSON's notation, which is YAML's, too.
std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string counted(unsigned n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

Status check_number(const char* what, unsigned n, unsigned least, unsigned most) {
  if (n >= least && n <= most) return {};
  return fail(Errc::kInvalid, "{} is {}; expected {} to {}", what, n, least, most);
}

std::string claim(const std::string& datacenter, wire::Role role, const std::string& name) {
  return fmt::format("URI:bellwether://{}/default/{}/role/{}/node/{}", kClusterName, datacenter, wire::to_string(role),
                     name);
}

// The common part of all settings files.
std::string common_settings(const Layout& layout, const std::string& name, const std::string& folder) {
  std::string seeds;
  for (const LocalNode& node : layout.nodes) {
    if (node.role == wire::Role::kManager) seeds += (seeds.empty() ? "" : ", ") + node.address();
  }
  std::string text = fmt::format("cluster: {}\nname: {}\nseeds: [{}]\nsecret:\n  file: {}\n", kClusterName, name, seeds,
                                 quoted(folder + "/secret"));
  if (layout.shape.tls) {
    text +=
        fmt::format("tls:\n  certificate: {}\n  key: {}\n  ca: {}\n", quoted(fmt::format("{}/{}.pem", folder, name)),
                    quoted(fmt::format("{}/{}-key.pem", folder, name)), quoted(folder + "/ca.pem"));
  }
  return text;
}

Json to_json(const LocalNode& node) {
  return {{"name", node.name},
          {"role", std::string(wire::to_string(node.role))},
          {"datacenter", node.datacenter},
          {"port", node.port},
          {"http_port", node.http_port},
          {"pid", node.process.pid},
          {"start_time", node.process.start_time},
          {"boot_id", node.process.boot_id},
          {"pid_namespace", node.process.pid_namespace}};
}

LocalNode node_from(const Json& json) {
  LocalNode node;
  node.name = json.at("name").get<std::string>();
  node.role = json.at("role").get<std::string>() == "worker" ? wire::Role::kWorker : wire::Role::kManager;
  node.datacenter = json.at("datacenter").get<std::string>();
  node.port = json.at("port").get<uint16_t>();
  node.http_port = json.at("http_port").get<uint16_t>();
  node.process = {json.at("pid").get<int64_t>(), json.at("start_time").get<uint64_t>(),
                  json.at("boot_id").get<std::string>(), json.at("pid_namespace").get<std::string>()};
  return node;
}

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

using runtime::ProcessSight;

ProcessMark mark_of(int64_t pid) {
  const runtime::ProcessIdentity self = runtime::identify_self();
  return {pid, runtime::look_at_process(pid).start_time.value_or(0), self.boot_id, self.pid_namespace};
}

bool lives(const ProcessMark& mark) {
  if (mark.pid <= 0 || mark.start_time == 0) return false;
  const runtime::ProcessIdentity self = runtime::identify_self();
  if (mark.boot_id != self.boot_id || mark.pid_namespace != self.pid_namespace) return false;
  const ProcessSight sight = runtime::look_at_process(mark.pid);
  return sight.state == ProcessSight::State::kAlive && sight.start_time == mark.start_time;
}

Status signal_process(const ProcessMark& mark, int number) {
  // The descriptor stays with the process that has the id now: the inspected process gets the signal.
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(mark.pid), 0));
  if (fd < 0 && errno == ESRCH) return fail(Errc::kNotFound, "the process has ended");
  if (fd < 0) return fail_errno(errno, fmt::format("inspecting process {}", mark.pid));
  Status done;
  if (!lives(mark)) {
    done = fail(Errc::kNotFound, "the process has ended");
  } else if (::syscall(SYS_pidfd_send_signal, fd, number, nullptr, 0) != 0) {
    done = errno == ESRCH ? fail(Errc::kNotFound, "the process has ended")
                          : fail_errno(errno, fmt::format("signalling process {}", mark.pid));
  }
  ::close(fd);
  return done;
}

Status check_shape(const Shape& shape) {
  Status good = check_number("--managers", shape.managers, 1, kMaxManagers);
  if (good) good = check_number("--workers", shape.workers, 0, kMaxWorkers);
  if (good) good = check_number("--cores-per-worker", shape.cores, 0, 4096);
  if (good) good = check_number("--datacenters", shape.datacenters, 1, kMaxDatacenters);
  return good;
}

std::string to_string(const Shape& shape) {
  return fmt::format("{} and {}", counted(shape.managers, "manager"), counted(shape.workers, "worker"));
}

Layout make_layout(const Shape& shape, uint16_t base_port) {
  Layout layout;
  layout.shape = shape;
  const auto add = [&](const char* letter, wire::Role role, unsigned i) {
    LocalNode node;
    node.name = letter + std::to_string(i + 1);
    node.role = role;
    node.datacenter = fmt::format("dc{}", i % shape.datacenters + 1);
    node.port = static_cast<uint16_t>(base_port + layout.nodes.size() * kPortsOfNode);
    node.http_port = static_cast<uint16_t>(node.port + 1);
    layout.nodes.push_back(std::move(node));
  };
  for (unsigned i = 0; i < shape.managers; ++i) add("m", wire::Role::kManager, i);
  for (unsigned i = 0; i < shape.workers; ++i) add("w", wire::Role::kWorker, i);
  return layout;
}

std::string settings_of(const Layout& layout, const LocalNode& node, const std::string& folder) {
  std::string text = common_settings(layout, node.name, folder);
  text +=
      fmt::format("role: {}\ndatacenter: {}\nlisten: {}\nhttp: 127.0.0.1:{}\ndata: {}\n", wire::to_string(node.role),
                  node.datacenter, node.address(), node.http_port, quoted(fmt::format("{}/{}", folder, node.name)));
  if (node.role == wire::Role::kManager) {
    std::string voters;
    for (const LocalNode& one : layout.nodes) {
      if (one.role == wire::Role::kManager) voters += (voters.empty() ? "" : ", ") + one.name;
    }
    text += fmt::format("voters: [{}]\n", voters);
    return text;
  }
  if (layout.shape.cores > 0) text += fmt::format("cores: {}\n", layout.shape.cores);
  if (!layout.shape.trust_keys.empty()) text += fmt::format("trust_keys: {}\n", quoted(layout.shape.trust_keys));
  return text;
}

std::string client_settings(const Layout& layout, const std::string& folder) {
  return fmt::format(
      "# For clients and operators (`bellwether cluster members --cluster THIS`). No node runs with it.\n{}role: "
      "worker  # no voter\nlisten: {}  # the node to ask first\n",
      common_settings(layout, kClientName, folder), layout.nodes.front().address());
}

std::string certificate_names(const LocalNode& node) {
  return fmt::format("{},DNS:{},IP:127.0.0.1", claim(node.datacenter, node.role, node.name), node.name);
}

std::string client_certificate_names() {
  return fmt::format("{},{},DNS:{}", claim("*", wire::Role::kOperator, "*"), claim("*", wire::Role::kClient, "*"),
                     kClientName);
}

std::string encode_layout(const Layout& layout) {
  Json nodes = Json::array();
  for (const LocalNode& node : layout.nodes) nodes.push_back(to_json(node));
  const Json out = {{"format", kFormat},
                    {"managers", layout.shape.managers},
                    {"workers", layout.shape.workers},
                    {"cores", layout.shape.cores},
                    {"datacenters", layout.shape.datacenters},
                    {"tls", layout.shape.tls},
                    {"trust_keys", layout.shape.trust_keys},
                    {"formed", layout.formed},
                    {"nodes", std::move(nodes)}};
  return out.dump(2) + "\n";
}

Result<Layout> decode_layout(std::string_view text) {
  const Json in = Json::parse(text, nullptr, false);
  if (in.is_discarded()) return fail(Errc::kInvalid, "it is not JSON");
  try {
    if (in.at("format") != kFormat) {
      return fail(Errc::kUnsupported, "it has format {}, but this version knows only 1", in.at("format").dump());
    }
    Layout layout;
    layout.shape = {in.at("managers"),    in.at("workers"), in.at("cores"),
                    in.at("datacenters"), in.at("tls"),     in.value("trust_keys", std::string())};
    layout.formed = in.at("formed");
    for (const Json& node : in.at("nodes")) layout.nodes.push_back(node_from(node));
    BW_RETURN_IF_ERROR(check_shape(layout.shape));
    if (layout.nodes.size() != layout.shape.managers + layout.shape.workers) {
      return fail(Errc::kInvalid, "its number of nodes does not match its list");
    }
    for (const LocalNode& node : layout.nodes) {
      if (!wire::is_name(node.name)) return fail(Errc::kInvalid, "it has a node with an invalid name");
    }
    return layout;
  } catch (const Json::exception& wrong) {
    return fail(Errc::kInvalid, wrong.what());
  }
}

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
