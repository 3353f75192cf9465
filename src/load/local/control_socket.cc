#include "load/local/control_socket.h"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace bellwether::node {

namespace {

using runtime::task;

constexpr unsigned kMaxAtOnce = 16;
constexpr Duration kMaxTime = Duration::seconds(5);
constexpr Duration kPause = Duration::millis(100);  // when there are no descriptors left

class Closer {
 public:
  explicit Closer(int fd) : fd_(fd) {}
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  ~Closer() {
    if (fd_ >= 0) ::close(fd_);
  }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalid,
                "'{}' is too long for a socket; the limit is {} bytes (XDG_RUNTIME_DIR sets its folder)", path,
                sizeof address.sun_path - 1);
  }
  path.copy(address.sun_path, path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

// A user who may write there could replace the socket with another one.
Status make_own_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno(errno, fmt::format("making '{}'", folder));
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0) return fail_errno(errno, fmt::format("looking at '{}'", folder));
  if (S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & 022) == 0) return {};
  return fail(Errc::kRefused, "'{}' is not a folder that only this user can access", folder);
}

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

std::string member(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(runtime::Runtime& runtime, const std::string& folder,
                                                           const std::string& name, Handler handler) {
  std::string path = fmt::format("{}/{}", folder, name);
  BW_TRY(const auto address, address_of(path));
  BW_RETURN_IF_ERROR(make_own_folder(folder));
  const int number = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  Closer closer(number);
  if (number < 0) return fail_errno(errno, "creating a socket");
  ::unlink(path.c_str());
  if (::bind(number, generic(address), sizeof address) != 0) return fail_errno(errno, fmt::format("making '{}'", path));
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(number, static_cast<int>(kMaxAtOnce)) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return fail_errno(error, fmt::format("listening on '{}'", path));
  }
  return std::unique_ptr<ControlSocket>(new ControlSocket(runtime, handler, std::move(path), closer.release()));
}

ControlSocket::~ControlSocket() {
  ::unlink(path_.c_str());
  ::close(fd_);
}

task<void> ControlSocket::serve(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  while (!cancel->cancelled()) {
    const auto ready = co_await runtime_.wait_descriptor(fd_, true, false, Instant::never(), cancel);
    if (!ready) break;
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) co_await runtime_.sleep(kPause, cancel);
      continue;
    }
    if (open_ >= kMaxAtOnce) {
      ::close(fd);
      continue;
    }
    scope.spawn(converse(fd, scope.cancellation()));
  }
  scope.cancel();
  co_await scope.join();
}

task<void> ControlSocket::converse(int fd, runtime::Cancellation* cancel) {
  const Closer closer(fd);
  ++open_;
  const Instant deadline = runtime_.now() + kMaxTime;
  std::string line;
  const bool whole = co_await read_line(fd, line, deadline, cancel);
  std::string text = whole ? handler_(line) + "\n" : std::string();
  while (!text.empty()) {
    const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n > 0) {
      text.erase(0, static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      const auto ready = co_await runtime_.wait_descriptor(fd, false, true, deadline, cancel);
      if (!ready) break;
    } else if (errno != EINTR) {
      break;
    }
  }
  --open_;
}

task<bool> ControlSocket::read_line(int fd, std::string& line, Instant deadline, runtime::Cancellation* cancel) {
  while (line.size() <= kMaxControlLine) {
    char bytes[4096];
    const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
    if (n > 0) {
      line.append(bytes, static_cast<std::size_t>(n));
      const std::size_t end = line.find('\n');
      if (end == std::string::npos) continue;
      line.resize(end);
      co_return true;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) co_return false;
    const auto ready = co_await runtime_.wait_descriptor(fd, true, false, deadline, cancel);
    if (!ready) co_return false;
  }
  co_return false;
}

Result<std::string> ask_control(const std::string& path, std::string_view line, Duration limit) {
  BW_TRY(const auto address, address_of(path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(errno, "creating a socket");
  const Closer closer(fd);
  const timeval most{.tv_sec = limit.ns() / 1'000'000'000, .tv_usec = limit.ns() / 1000 % 1'000'000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  if (::connect(fd, generic(address), sizeof address) != 0) {
    if (errno == ENOENT) return fail(Errc::kNotFound, "there is no '{}'", path);
    if (errno == ECONNREFUSED) return fail(Errc::kUnreachable, "no process listens at '{}'", path);
    return fail_errno(errno, fmt::format("asking '{}'", path));
  }
  std::string text = std::string(line) + "\n";
  while (!text.empty()) {
    const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, fmt::format("asking '{}'", path));
    text.erase(0, static_cast<std::size_t>(n));
  }
  std::string answer;
  while (answer.find('\n') == std::string::npos) {
    char bytes[4096];
    const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return fail(Errc::kTimeout, "no answer from '{}'", path);
    }
    if (n < 0) return fail_errno(errno, fmt::format("asking '{}'", path));
    if (n == 0) return fail(Errc::kUnreachable, "'{}' was closed without an answer", path);
    answer.append(bytes, static_cast<std::size_t>(n));
    if (answer.size() > 16 * kMaxControlLine) return fail(Errc::kTooLarge, "the answer from '{}'", path);
  }
  answer.resize(answer.find('\n'));
  return answer;
}

std::string RunControls::answer(std::string_view line) {
  if (const Status done = obey(line); !done) return text_of({{"ok", false}, {"error", done.error().message}});
  const aggregate::Counts counts = run_.totals().counts();
  Json workflows = Json::array();
  for (const auto& [w, vus] : run_.wanted()) {
    const plan::Workflow& workflow = plan_.workflows[w];
    workflows.push_back({{"name", workflow.name},
                         {"vus", vus},
                         {"max_vus", std::get<plan::ExternallyControlled>(workflow.executor).vus_most}});
  }
  return text_of({{"ok", true},
                  {"run", id_},
                  {"scenario", plan_.name},
                  {"state", run_.stopping() ? "stopping"
                            : run_.paused() ? "paused"
                                            : "running"},
                  {"elapsed_s", run_.running_for().seconds_f()},
                  {"vus", run_.totals().vus().active.last},
                  {"requests", counts.requests},
                  {"failed", counts.failed},
                  {"iterations", counts.iterations},
                  {"controlled", std::move(workflows)}});
}

Status RunControls::obey(std::string_view line) {
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object()) return fail(Errc::kInvalid, "the request is not a JSON object");
  const std::string what = member(request, "do");
  if (what == "status") return {};
  if (run_.stopping() && what != "stop") return fail(Errc::kInvalid, "the run is being stopped");
  if (what == "pause") {
    run_.pause();
  } else if (what == "resume") {
    run_.resume();
  } else if (what == "stop") {
    run_.stop("stopped from outside");
  } else if (what == "vus") {
    const auto vus = request.find("vus");
    if (vus == request.end() || !vus->is_number_unsigned() || vus->get<uint64_t>() > UINT32_MAX) {
      return fail(Errc::kInvalid, "'vus' must be a whole number of 0 or more");
    }
    return run_.scale(member(request, "workflow"), vus->get<uint32_t>());
  } else {
    return fail(Errc::kInvalid, "'do' must be one of status, pause, resume, stop, vus; not '{}'", what);
  }
  return {};
}

}  // namespace bellwether::node
