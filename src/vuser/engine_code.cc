// Steps whose work a program does: it says what it wants, and gets it.

#include <algorithm>

#include "base/check.h"
#include "vuser/engine.h"
#include "vuser/engine_state.h"

namespace bellwether::vuser {

using metrics::ErrorKind;
using runtime::task;

namespace {

// Of what programs say of themselves, so that none can flood those who listen; each once.
constexpr std::size_t kNotesMost = 20;

// From here on the memory of a response counts for more than copying it away and back.
constexpr Duration kLongSleep = Duration::millis(10);

// Borrows a run from the thread's free ones.
class RunLease {
 public:
  explicit RunLease(std::vector<std::unique_ptr<CodeRun>>& pool) : pool_(pool) {
    if (pool_.empty()) {
      run_ = std::make_unique<CodeRun>();
    } else {
      run_ = std::move(pool_.back());
      pool_.pop_back();
    }
  }
  RunLease(const RunLease&) = delete;
  RunLease& operator=(const RunLease&) = delete;
  ~RunLease() {
    run_->let_go();
    pool_.push_back(std::move(run_));
  }
  CodeRun& operator*() { return *run_; }

 private:
  std::vector<std::unique_ptr<CodeRun>>& pool_;
  std::unique_ptr<CodeRun> run_;
};

}  // namespace

Result<std::size_t> Engine::program_at(uint16_t index) {
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (programs_[i].index == index) return i;
  }
  check(loader_ != nullptr, "who has a plan with programs has a loader for them");
  BW_TRY(auto program, loader_->load(plan_.programs[index]));
  programs_.push_back({index, std::move(program)});
  return programs_.size() - 1;
}

// The step's own part, if a program does its work.
Status Engine::prepare_code(WorkflowRun& run, const plan::Step& step) {
  const auto* call = std::get_if<plan::CodeCall>(&step.work);
  run.sites.push_back(nullptr);
  if (call == nullptr) return {};
  BW_TRY(const auto program, program_at(call->program));
  Program& runs_it = *programs_[program].program;
  auto site = std::make_unique<CodeSite>(step, code_thread_, runs_it);
  BW_TRY(site->function, runs_it.find(*call));
  run.sites.back() = std::move(site);
  if (std::find(run.programs.begin(), run.programs.end(), &runs_it) == run.programs.end()) {
    run.programs.push_back(&runs_it);
  }
  return {};
}

void Engine::begin_code_iteration(WorkflowRun& run, Vu& vu) {
  for (std::size_t i = 0; i < run.programs.size(); ++i) {
    if (vu.code.size() == i) vu.code.push_back(run.programs[i]->new_user(vu.number));
    run.programs[i]->begin_iteration(*vu.code[i], vu.iteration);
  }
}

task<Engine::Flow> Engine::run_code(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due) {
  const auto index = static_cast<std::size_t>(&step - run.steps.data());
  CodeSite& site = *run.sites[index];
  Program& program = site.program();
  RunLease lease(runs_of_code_);
  CodeRun& code = *lease;
  code.reset(site, vu.values, vu.number, vu.iteration);
  http1::Response none;
  const plan::HttpCall& base = site.call().base;
  bool ready = has_token(base);
  if (!ready) ready = co_await next_token(vu, base);
  if (!ready || !code.render_arguments()) {
    none.error = ready ? ErrorKind::kTemplate : ErrorKind::kToken;
    if (site.call().sends) record(step, none, due, vu);
    co_return after_failure(run, vu, step);
  }
  const auto user = std::find(run.programs.begin(), run.programs.end(), &program) - run.programs.begin();
  bool counts = false;  // there is a response to be measured
  Instant asked = due;
  program.begin(site.function, *vu.code[static_cast<std::size_t>(user)], code);
  while (code.want() == CodeRun::Want::kExchange || code.want() == CodeRun::Want::kSleep) {
    if (code.want() == CodeRun::Want::kSleep) {
      const bool stows = code.span() >= kLongSleep && program.copies_responses();
      if (stows) code.stow();
      co_await runtime_.sleep(code.span(), vu.cancel);
      if (stows) code.unstow();
    } else {
      if (code.counted()) {
        if (code.has_response()) asked = runtime_.now();
        counts = true;
      }
      http1::Response& response = code.begin_exchange();
      co_await client_.exchange(vu.session, code.request(), response, vu.cancel);
    }
    if (vu.cancel->cancelled()) {
      program.abandon(code);
      break;
    }
    program.go_on(code);
  }
  for (const std::string& text : code.said()) note(plan_.steps[step.step().id].name, text);
  code.said().clear();
  bool good = code.checks_hold();
  if (code.want() == CodeRun::Want::kFailure) {
    note(plan_.steps[step.step().id].name, code.why());
    none.error = ErrorKind::kScript;
    if (site.call().sends) record(step, none, due, vu);
    good = false;
  } else {
    bool answered = true;
    if (site.call().sends && counts) {
      const Outcome outcome = record(step, code.measured(), asked, vu);
      good &= outcome.good;
      answered = code.measured().error == ErrorKind::kNone;
    }
    if (answered && !vu.cancel->cancelled()) record_metrics(step, vu);
  }
  co_return good ? Flow::kGoOn : after_failure(run, vu, step);
}

void Engine::note(std::string_view who, std::string_view text) {
  if (notes_.size() > kNotesMost || std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
  notes_.emplace_back(text);
  sink_.note(who, notes_.size() > kNotesMost ? "more is not told" : text);
}

}  // namespace bellwether::vuser
