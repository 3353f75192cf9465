// The iterations of virtual users: their steps, one by one or side by side. For each step it puts the request together,
// exchanges, evaluates the response, and counts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/http1/client.h"
#include "load/vuser/engine_state.h"

namespace bellwether::vuser {

class IterationRunner {
 public:
  // All must outlive it; it must outlive the users.
  IterationRunner(EngineState& state, const ProgramLoader* programs);

  // The steps of a workflow. Fails on errors that only show now.
  Status prepare(WorkflowRun& run);
  // `due`: the time at which it should have begun.
  runtime::task<Flow> run(WorkflowRun& run, Vu& vu, Instant due);
  // One of its steps by weight.
  uint16_t draw(const plan::Block& block);
  Tokens& tokens() { return tokens_; }
  // Sends it to the observers of the run, a few times at most, and each once.
  void note(std::string_view who, std::string_view text);
  void note_end_of_rows(const WorkflowRun& run) {
    note(run.workflow.name, "its data has no more rows, and 'at_end' is stop");
  }

 private:
  runtime::task<Flow> run_step(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  runtime::task<Flow> run_work(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  runtime::task<Flow> run_order(WorkflowRun& run, Vu& vu, const plan::Order& order, Instant due);
  runtime::task<void> run_branch(WorkflowRun& run, Vu& vu, Course& course, uint16_t index, Instant due);
  runtime::task<Flow> run_block(WorkflowRun& run, Vu& vu, const plan::Block& block, Instant due);
  runtime::task<Flow> run_drawn(WorkflowRun& run, Vu& vu, uint16_t index, Instant due);
  runtime::task<Flow> run_rounds(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  void record_groups(const WorkflowRun& run, const Vu& vu);
  runtime::task<Flow> run_call(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due, uint16_t sent = 0);
  runtime::task<Flow> send_again(WorkflowRun& run, Vu& vu, PreparedStep& step, uint16_t sent);
  runtime::task<Flow> run_action(WorkflowRun& run, Vu& vu, PreparedStep& step);
  Result<std::size_t> program_at(uint16_t index);
  Status prepare_code(WorkflowRun& run, const plan::Step& step);
  void begin_code_iteration(WorkflowRun& run, Vu& vu);
  runtime::task<Flow> run_code(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  void note_proxy(const PreparedStep& step, const http1::Response& response);
  bool has_token(const plan::HttpCall& call) const { return !call.token || tokens_.is_valid(*call.token); }
  runtime::task<bool> next_token(const Vu& vu, const plan::HttpCall& call);
  void take_rows(WorkflowRun& run, Vu& vu);
  void provide(WorkflowRun& run, const Vu& vu);
  Flow after_failure(WorkflowRun& run, Vu& vu, const PreparedStep& step);
  struct Outcome {
    bool failed = false;  // the request did
    bool good = false;    // and every check holds
  };
  void count(plan::StepId step, const http1::Response& response, bool failed, Instant due, const Vu& vu);
  void watch(plan::StepId step, const http1::Response& response, bool failed, Instant due);
  // Of the evaluation of a response; nothing when that needs none.
  std::optional<RenderContext> evaluation_context(PreparedStep& step, const Vu& vu) {
    if (!step.evaluator().needs_context()) return std::nullopt;
    return context_for(vu, step.evaluator().mentions_time());
  }
  Outcome record(PreparedStep& step, const http1::Response& response, Instant due, Vu& vu);
  bool permit_is_over() const {
    return state_.permit != nullptr && state_.permit->over.load(std::memory_order_relaxed);
  }
  // The end of the permit cut it off: the target is not to blame.
  bool is_fenced(const http1::Response& response) const {
    return response.error == http1::ErrorKind::kInterrupted && permit_is_over();
  }
  static bool is_to_be_sent_again(const plan::Retry& retry, const http1::Response& response, bool failed);
  void record_metrics(const PreparedStep& step, const Vu& vu) {
    if (!step.step().records.empty()) record_those(step, vu);
  }
  void record_those(const PreparedStep& step, const Vu& vu);
  bool leaves_out(WorkflowRun& run, Vu& vu, uint16_t index);
  RenderContext context_for(const Vu& vu, bool with_time);

  EngineState& state_;
  runtime::Runtime& runtime_;
  BodyReaders readers_;
  MetricRecorder recorder_;
  http1::Client client_;
  Tokens tokens_;
  const ProgramLoader* loader_;
  struct Loaded {
    uint16_t index;  // into Plan::programs
    std::unique_ptr<Program> program;
  };
  std::vector<Loaded> programs_;
  CodeThread code_thread_;
  std::vector<std::string> notes_;                      // so far
  std::vector<std::unique_ptr<CodeRun>> runs_of_code_;  // free ones
  std::vector<std::unique_ptr<RequestText>> texts_;     // free ones
};

}  // namespace bellwether::vuser
