// A Unix socket for other programs of the same user: each request is a line of text, and so is the answer. Requests are
// few. Each has a limit of size and time, and a stuck client delays no other client.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/callback.h"
#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "load/local/local_run.h"

namespace bellwether::node {

// Longer lines get no answer.
inline constexpr std::size_t kMaxControlLine = 64 << 10;

class ControlSocket {
 public:
  // Answers a line. Without line ends, either way.
  using Handler = Callback<std::string(std::string_view line)>;

  // Makes `folder`, for its owner alone, and the socket in it under `name`. `runtime` and `handler` must outlive it.
  // kRefused when another user owns the folder or may write to it, kInvalid when the path is too long for a socket.
  static Result<std::unique_ptr<ControlSocket>> open(runtime::Runtime& runtime, const std::string& folder,
                                                     const std::string& name, Handler handler);
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;
  // Removes the socket.
  ~ControlSocket();

  const std::string& path() const { return path_; }
  // Until cancelled.
  runtime::task<void> serve(runtime::Cancellation* cancel);

 private:
  ControlSocket(runtime::Runtime& runtime, Handler handler, std::string path, int fd)
      : runtime_(runtime), handler_(handler), path_(std::move(path)), fd_(fd) {}
  runtime::task<void> converse(int fd, runtime::Cancellation* cancel);
  runtime::task<bool> read_line(int fd, std::string& line, Instant deadline, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  Handler handler_;
  std::string path_;
  int fd_;
  unsigned open_ = 0;
};

// Sends a line to the socket at `path` and waits in this thread for the answer. kNotFound: no socket; kUnreachable: its
// process is gone; kTimeout.
Result<std::string> ask_control(const std::string& path, std::string_view line, Duration limit);

// The requests that other programs send to a local run: report the state, pause, resume, stop, and set the number of
// virtual users of an externally controlled workflow. Requests and answers are JSON objects (docs/controlling.md).
class RunControls {
 public:
  // `run` must outlive it.
  RunControls(LocalRun& run, const plan::Plan& plan, std::string id) : run_(run), plan_(plan), id_(std::move(id)) {}

  // {"do": "status" | "pause" | "resume" | "stop" | "vus", "vus": 50, "workflow": "name"} gives {"ok": true, …state…}
  // or
  // {"ok": false, "error": "why"}.
  std::string answer(std::string_view line);

 private:
  Status obey(std::string_view line);

  LocalRun& run_;
  const plan::Plan& plan_;
  std::string id_;
};

}  // namespace bellwether::node
