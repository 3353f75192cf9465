#include "lead/context_driver/command_manager.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/scope.h"
#include "lead/context_driver/context_codec.h"

namespace bellwether::cluster {
namespace {

using context_lead::JobEnded;
using runtime::task;

constexpr std::size_t kMaxErrorBytes = 4096;
constexpr std::size_t kReadBytes = 16 * 1024;

// The command's own standard files are those of the guardian, which has this node's; so a shell that becomes the
// command gives it others. Opened anew they have a separate offset, and waiting reads and writes.
constexpr const char* kWithFiles = "exec </proc/self/fd/$1 >/proc/self/fd/$2 2>/proc/self/fd/$3; shift 3; exec \"$@\"";

std::string path_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

// The kept output of a command.
class Output {
 public:
  explicit Output(std::size_t most, bool keep_last) : most_(most), keep_last_(keep_last) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    for (const int end : {read_, write_}) {
      if (end >= 0) ::close(end);
    }
  }

  Status open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      return fail_errno(errno, "creating a pipe for a context manager's command");
    read_ = ends[0];
    write_ = ends[1];
    ::fcntl(read_, F_SETFL, O_NONBLOCK);
    return {};
  }
  int writer() const { return write_; }

  // Reads the pending output; false: the end was reached.
  bool take() {
    std::array<char, kReadBytes> buffer;
    while (true) {
      const ssize_t size = ::read(read_, buffer.data(), buffer.size());
      if (size < 0) return errno == EAGAIN || errno == EINTR;
      if (size == 0) return false;
      text_.append(buffer.data(), static_cast<std::size_t>(size));
      if (text_.size() <= most_) continue;
      cut_ = true;
      keep_last_ ? text_.erase(0, text_.size() - most_) : text_.erase(most_);
    }
  }
  static task<void> keep_taking(Output* self, runtime::Runtime* runtime, runtime::Cancellation* cancel) {
    while (!cancel->cancelled()) {
      const auto ready = co_await runtime->wait_descriptor(self->read_, true, false, Instant::never(), cancel);
      if (!ready || !self->take()) co_return;
    }
  }

  const std::string& text() const { return text_; }
  bool was_cut() const { return cut_; }

 private:
  std::size_t most_;
  bool keep_last_;
  std::string text_;
  bool cut_ = false;
  int read_ = -1;
  int write_ = -1;
};

// The last line with text, for people.
std::string last_lines(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const auto line = text.rfind('\n');
  return printable(std::string(line == std::string_view::npos ? text : text.substr(line + 1)));
}

}  // namespace

struct CommandManager::Files {
  Output out{kMaxResultBytes, false};
  Output errors{kMaxErrorBytes, true};
  int payload = -1;

  Files() = default;
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    if (payload >= 0) ::close(payload);
  }

  Status open(std::string_view text) {
    payload = ::memfd_create("payload", MFD_CLOEXEC);
    if (payload < 0) return fail_errno(errno, "allocating memory for a payload");
    while (!text.empty()) {
      const ssize_t size = ::write(payload, text.data(), text.size());
      if (size < 0) return fail_errno(errno, "allocating memory for a payload");
      text.remove_prefix(static_cast<std::size_t>(size));
    }
    BW_RETURN_IF_ERROR(out.open());
    return errors.open();
  }
};

struct CommandManager::Limit {
  runtime::Runtime& runtime;
  const CommandManagerSettings& settings;
  runtime::Cancellation stop;
  runtime::Cancellation kill;
  bool passed = false;
};

CommandManager::CommandManager(runtime::Runtime& runtime, CommandManagerSettings settings)
    : runtime_(runtime), settings_(std::move(settings)), commands_(runtime) {
  check(!settings_.command.empty(), "there is a command");
  std::string name;
  for (const std::string& word : settings_.command) name += (name.empty() ? "" : " ") + word;
  config_ = {printable(name).substr(0, context_lead::kMaxTextBytes), settings_.slots};
}

std::vector<std::pair<std::string, std::string>> CommandManager::environment_of(const ContextJob& job,
                                                                                const Files& files) const {
  const int64_t deadline = (runtime_.wall_now().unix_ns + settings_.timeout.ns()) / 1'000'000'000;
  return {{"BELLWETHER_CONTEXT_REQUEST", to_string(job.request.id)},
          {"BELLWETHER_EPOCH", std::to_string(job.fence.epoch.value())},
          {"BELLWETHER_CONTEXT_ATTEMPT", std::to_string(job.fence.attempt)},
          {"BELLWETHER_CONTEXT_PRIORITY", std::to_string(job.request.priority)},
          {"BELLWETHER_CONTEXT_DEADLINE", std::to_string(deadline)},
          {"BELLWETHER_CONTEXT_PAYLOAD", path_of(files.payload)},
          {"BELLWETHER_HOLDER", settings_.node}};
}

task<void> CommandManager::keep_limit(Limit* limit, runtime::Cancellation* cancel) {
  const bool late = co_await limit->runtime.sleep(limit->settings.timeout, cancel);
  if (!late) co_return;
  limit->passed = true;
  limit->stop.cancel();
  const bool deaf = co_await limit->runtime.sleep(limit->settings.grace, cancel);
  if (deaf) limit->kill.cancel();
}

task<ContextJobEnd> CommandManager::run(ContextJob job, runtime::Cancellation* stop, runtime::Cancellation* kill) {
  using End = JobEnded::End;
  if (stop->cancelled() || kill->cancelled()) co_return ContextJobEnd{End::kCancelled, {}, {}};
  Files files;
  if (const Status opened = files.open(job.request.payload); !opened) {
    co_return ContextJobEnd{End::kFailed, opened.error().message, {}};
  }
  lead::CommandOptions options;
  options.command = {"/bin/sh", "-c", kWithFiles, "sh"};
  for (const int one : {files.payload, files.out.writer(), files.errors.writer()}) {
    options.command.push_back(std::to_string(one));
    options.more_open.push_back(one);
  }
  options.command.insert(options.command.end(), settings_.command.begin(), settings_.command.end());
  options.environment = environment_of(job, files);
  Limit limit{runtime_, settings_, runtime::Cancellation(stop), runtime::Cancellation(kill)};
  Result<lead::CommandEnd> end;
  {
    runtime::Scope scope;
    scope.spawn(Output::keep_taking(&files.out, &runtime_, scope.cancellation()));
    scope.spawn(Output::keep_taking(&files.errors, &runtime_, scope.cancellation()));
    scope.spawn(keep_limit(&limit, scope.cancellation()));
    end = co_await commands_.run(std::move(options), &limit.stop, &limit.kill);
    scope.cancel();
    co_await scope.join();
  }
  if (!end) co_return ContextJobEnd{End::kFailed, "it cannot be started: " + end.error().message, {}};
  files.out.take();
  files.errors.take();
  const std::string words = last_lines(files.errors.text());
  const std::string because = words.empty() ? std::string() : ": " + words;
  if (limit.passed) {
    co_return ContextJobEnd{
        End::kFailed, fmt::format("took longer than {}{}", format_duration(settings_.timeout), because), {}};
  }
  if (end->asked) co_return ContextJobEnd{End::kCancelled, {}, {}};
  if (!end->succeeded()) co_return ContextJobEnd{End::kFailed, lead::how_it_ended(*end) + because, {}};
  if (files.out.was_cut()) {
    co_return ContextJobEnd{End::kFailed, fmt::format("printed more than {} KiB", kMaxResultBytes / 1024), {}};
  }
  co_return ContextJobEnd{End::kDone, {}, files.out.text()};
}

}  // namespace bellwether::cluster
