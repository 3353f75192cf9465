// Steps whose work a program does, a script or a compiled one: the seam between the engine, which sends, measures and
// counts, and the code that runs programs. One load thread each; nothing here is shared between threads.
//
// A function of a program runs until it needs the world. It states its wish, and continues when the engine has
// fulfilled it: a coroutine in any language.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/http1/client.h"
#include "core/http1/client_stowed.h"
#include "core/runtime/runtime.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/vuser/evaluate.h"
#include "load/vuser/prepared_step.h"
#include "load/vuser/render.h"

namespace bellwether::vuser {

// The counting of the scenario's own metrics, on one load thread.
class MetricRecorder {
 public:
  // All must outlive it. `window`: the current one; `start`: of the run.
  MetricRecorder(const plan::Plan& plan, const runtime::Runtime& runtime, metrics::Window* const& window,
                 const Instant& start)
      : plan_(plan), runtime_(runtime), window_(window), start_(start) {}

  // Counts an impossible value as refused. `series`: an index into Plan::series.
  void record(uint16_t series, double value);
  // The values of a step's own records. One that mentions a missing value is refused, too.
  void record(const std::vector<plan::Recording>& values, const RenderContext& context);

 private:
  const plan::Plan& plan_;
  const runtime::Runtime& runtime_;
  metrics::Window* const& window_;
  const Instant& start_;
  std::string text_;  // of the value in the making
};

class CodeRun;

// A program on one load thread.
class Program {
 public:
  // The program's state of one virtual user.
  class User {
   public:
    virtual ~User() = default;
  };

  virtual ~Program() = default;
  // The number of a function for begin(). kNotFound, with the nearest name. `call` outlives the program.
  virtual Result<uint32_t> find(const plan::CodeCall& call) = 0;
  virtual std::unique_ptr<User> new_user(uint32_t number) = 0;
  // Forgets the values that the steps of the last iteration left for each other.
  virtual void begin_iteration(User& user, uint64_t iteration) = 0;

  // Both return when the function has a wish, has ended, or has failed: `run` says which.
  virtual void begin(uint32_t function, User& user, CodeRun& run) = 0;
  virtual void go_on(CodeRun& run) = 0;
  // Its wish will not be fulfilled; it ends here.
  virtual void abandon(CodeRun& run) = 0;
  // Whether it copies the needed parts of a response, and so holds no views of one during a wait.
  virtual bool copies_responses() const = 0;
};

// Makes programs from those of a plan.
class ProgramLoader {
 public:
  virtual ~ProgramLoader() = default;
  // Called by each load thread that needs it. kInvalid with the problem of its text.
  virtual Result<std::unique_ptr<Program>> load(const plan::Program& program) const = 0;
};

// A request that is the same at each sending.
struct PreparedRequest {
  RequestText text;
  http1::Request request;
  std::vector<plan::StatusRange> expected;  // see RequestChange
};

// The offer of one load thread to all code that runs on it. All must outlive the code.
struct CodeThread {
  runtime::Runtime& runtime;
  http1::OriginTable& origins;
  BodyReaders& readers;
  metrics::Window*& window;
  MetricRecorder& recorder;
  std::span<const std::string> tokens;  // see RenderContext
};

// One step whose work a program does, on one load thread.
class CodeSite {
 public:
  static constexpr std::size_t kMaxPrepared = 10'000;

  // All must outlive it.
  CodeSite(const plan::Step& step, CodeThread& thread, Program& program);

  const plan::Step& step() const { return *step_; }
  const plan::CodeCall& call() const { return *call_; }
  Program& program() const { return *program_; }
  const RequestMaker& maker() const { return maker_; }
  CodeThread& thread() const { return *thread_; }
  uint32_t function = 0;  // of the program

  // A request, prepared once. nullptr: its begin differs between iterations, it cannot be sent, or kMaxPrepared
  // already exist. Valid while this exists.
  const PreparedRequest* prepare(const RequestChange& change);
  const PreparedRequest* prepare(std::string_view method, std::string_view url);

 private:
  const plan::Step* step_;
  const plan::CodeCall* call_;
  CodeThread* thread_;
  Program* program_;
  RequestMaker maker_;
  bool constant_;
  std::deque<PreparedRequest> prepared_;
};

// One run of the function of one step. Pooled by the engine: its texts keep their memory.
class CodeRun {
 public:
  enum class Want : uint8_t { kEnd, kFailure, kExchange, kSleep };
  // Where a request counts. REQUIRES `name` <= the number of CodeCall::requests.
  struct Counting {
    bool measured = true;  // false: only the number of those left out tells of it
    uint16_t name = 0;     // 0: the step's own; else the number of one of CodeCall::requests, from 1
  };

  // --- what a program may ask --------------------------------------------------------------------------------------

  CodeSite& site() const { return *site_; }
  uint32_t vu() const { return vu_; }                // from 1, unique in the workflow
  uint64_t iteration() const { return iteration_; }  // from 0
  // In the order of CodeCall::arguments.
  std::string_view argument(std::size_t index) const { return arguments_[index]; }
  // The last one. Its body and head are valid until the next exchange.
  const http1::Response& response() const { return *last_; }
  // Of the last exchange: from when it was sent, or from its begin when nothing was sent, until it was done or failed.
  Duration took() const;
  // Of the last exchange, each 0 when it did not happen. Of one that failed, the last phase ends with the failure.
  std::array<Duration, metrics::kPhases> phases() const;
  // Counts the exchanges, so that a program can detect that its response is no longer the last one.
  uint32_t exchanges() const { return exchanges_; }
  // A value of the last response's body. `text`: as written, without quotes. Missing: monostate.
  JsonReader::Value json(const plan::JsonPath& path);
  bool json_text(const plan::JsonPath& path, std::string& out);
  // All values of a path that may name several, as a JSON list. False as JsonReader::find_list().
  bool json_list(const plan::JsonPath& path, std::string& out);
  // What an expression gives of the last response's body, which is read anew each time.
  bool markup_text(const MarkupReader::Expression& expression, std::string& out);
  Prng& prng() const { return site_->thread().runtime.prng(); }

  // --- what a program may say --------------------------------------------------------------------------------------

  // Its wish; the last call before begin() or go_on() return.
  void send(const PreparedRequest& request, Counting counting);
  // Error: kInvalid, the part that cannot be sent.
  Status send(const RequestChange& change, std::optional<Duration> timeout, Counting counting);
  void sleep(Duration span);
  void end() { want_ = Want::kEnd; }
  void fail(std::string why);

  // REQUIRES an index of CodeCall::checks, and of CodeCall::sets.
  void check(std::size_t index, bool holds);
  void set(std::size_t index, std::string_view text);
  // A value of a metric. REQUIRES an index of CodeCall::metrics.
  void measure(std::size_t index, double value);
  // Sends it to the observers of the run.
  void say(std::string text);

  void* state = nullptr;  // the program's own

  // --- for the engine ----------------------------------------------------------------------------------------------

  void reset(CodeSite& site, Values& values, uint32_t vu, uint64_t iteration);
  // False when a value that an argument mentions is missing.
  bool render_arguments();
  Want want() const { return want_; }
  const http1::Request& request() const { return request_; }
  Duration span() const { return span_; }
  bool measured() const { return counting_.measured; }
  // The expected statuses of the current request; none: those of its step.
  std::span<const plan::StatusRange> expected() const { return expected_; }
  plan::StepId counts_at() const { return static_cast<plan::StepId>(site_->step().id + counting_.name); }
  bool checks_hold() const { return checks_hold_; }
  const std::string& why() const { return why_; }
  std::vector<std::string>& said() { return said_; }
  // Makes room for the next response, which goes into the result. The measured one stays while others come.
  http1::Response& begin_exchange();
  // After it was counted. A program sees no status, head or body of a response that broke off.
  void end_exchange();
  const http1::Response& last_measured() const { return measured_; }
  // Before and after a long wait of a program that copies responses: they take no buffers meanwhile.
  void stow();
  void unstow();
  void let_go();

 private:
  RenderContext context(bool with_time);

  CodeSite* site_ = nullptr;
  Values* values_ = nullptr;
  uint32_t vu_ = 1;
  uint64_t iteration_ = 0;
  std::vector<std::string> arguments_;
  http1::Response measured_;    // the last that may be
  http1::Response unmeasured_;  // the last that is not to be
  const http1::Response* last_ = &measured_;
  http1::StowedResponse stowed_measured_;
  http1::StowedResponse stowed_unmeasured_;
  uint32_t exchanges_ = 0;
  Want want_ = Want::kEnd;
  http1::Request request_;
  RequestText text_;
  http1::CallLimits limits_;  // of a request with its own timeout
  std::vector<plan::StatusRange> expected_;
  Duration span_;
  Counting counting_;
  bool checks_hold_ = true;
  std::string why_;
  std::vector<std::string> said_;
};

}  // namespace bellwether::vuser
