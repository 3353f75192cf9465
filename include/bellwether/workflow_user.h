// The part of workflow.h about virtual users: the functions of their objects, and the table that a program exports.
#pragma once

#include "bellwether/workflow_task.h"

namespace bellwether::workflow {

class Workflow;

namespace detail {

inline uint32_t place(const std::vector<std::string>& names, std::string_view name, const char* what,
                      const char* call) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<uint32_t>(i);
  }
  fail("the step declares no " + std::string(what) + " '" + std::string(name) + "': add ." + call + "(\"" +
       std::string(name) + "\") where the steps are declared");
}

inline uint16_t place_of_request(const Strand& strand, const std::string& name) {
  return name.empty() ? 0 : static_cast<uint16_t>(place(strand.step->requests, name, "request", "requests") + 1);
}

struct WorkflowInfo {
  std::string name;
  const Settings* settings = nullptr;
  std::vector<StepInfo> steps;
  Workflow* (*make)() = nullptr;
  void (*destroy)(Workflow*) = nullptr;
};

struct UserState {
  uint32_t number = 1;
  uint64_t iteration = 0;
  Workflow* object = nullptr;  // made when its first step begins
  const WorkflowInfo* workflow = nullptr;
};

// The user whose object is being made.
inline constinit UserState* making = nullptr;

}  // namespace detail

// The base of all workflows. One object is one virtual user, from its first iteration to its last, and its members are
// the user's own.
class Workflow {
 public:
  Workflow(const Workflow&) = delete;
  Workflow& operator=(const Workflow&) = delete;

 protected:
  Workflow() : state_(detail::making) {}

  uint32_t vu() const { return state_->number; }            // from 1, unique in the workflow over all cores
  uint64_t iteration() const { return state_->iteration; }  // from 0

  // --- within a step ---

  // Counts under a name that the step has declared. A step with a check that does not hold has failed. Returns `holds`.
  bool check(std::string_view name, bool holds) {
    if (detail::host->check(strand().run, detail::place(strand_->step->checks, name, "check", "checks"),
                            holds ? 1 : 0) == 0) {
      fail("the scenario does not know the check '" + std::string(name) + "'");
    }
    return holds;
  }
  // A value under a name that the step has declared, for the rest of the iteration.
  void set(std::string_view name, std::string_view value) {
    const uint32_t index = detail::place(strand().step->sets, name, "value", "sets");
    if (detail::host->set(strand_->run, index, detail::to_abi(value)) == 0) {
      fail("the scenario does not know the value '" + std::string(name) + "'");
    }
  }
  // A value for a metric that the scenario declares: for a rate 0 is false, and all other values are true.
  void record(std::string_view metric, double value) {
    if (detail::host->record(strand().run, detail::to_abi(metric), value) == 0) {
      fail("the scenario declares no metric '" + std::string(metric) + "': metrics: {" + std::string(metric) +
           ": counter}");
    }
  }
  // The value of an argument's template in this iteration. Valid while the step runs.
  std::string_view argument(std::string_view name) {
    bellwether_text value{};
    const uint32_t index = detail::place(strand().step->arguments, name, "argument", "argument");
    if (detail::host->argument(strand_->run, index, &value) == 0) {
      fail("the scenario does not know the argument '" + std::string(name) + "'");
    }
    return detail::from_abi(value);
  }
  // From the run's source of randomness: the same again with the same seed.
  uint64_t random() { return detail::host->random(strand().run); }
  // Uniform in [low, high].
  int64_t random(int64_t low, int64_t high) {
    if (low > high) fail("random(low, high): the interval is empty");
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t drawn = random();
    if (span == 0) return static_cast<int64_t>(drawn);
    const auto scaled = static_cast<uint64_t>((static_cast<unsigned __int128>(drawn) * span) >> 64U);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + scaled);
  }

 private:
  template <class T>
  friend class Value;
  friend struct detail::Runner;

  detail::Strand& strand() {
    if (strand_ == nullptr) fail("this can be asked for within a step only");
    return *strand_;
  }

  const detail::UserState* state_;
  detail::Strand* strand_ = nullptr;  // of the step that runs just now
};

// A value that a step of a user leaves for its later steps: a member of the workflow. It is gone when the next
// iteration begins.
template <class T>
class Value {
 public:
  Value() : state_(detail::making) {}
  Value(const Value&) = delete;
  Value& operator=(T value) {
    value_ = std::move(value);
    made_in_ = state_->iteration + 1;
    return *this;
  }
  bool has() const { return made_in_ == state_->iteration + 1; }
  const T& get() const {
    if (!has()) fail("a value is asked for that no step has made in this iteration");
    return value_;
  }
  const T& operator*() const { return get(); }
  const T* operator->() const { return &get(); }

 private:
  const detail::UserState* state_;
  uint64_t made_in_ = 0;
  T value_{};
};

namespace detail {

// --- calls by the host; they throw nothing ---------------------------------------------------------------------------

struct Runner {
  struct All {
    std::vector<WorkflowInfo> workflows;
    std::vector<std::pair<const WorkflowInfo*, const StepInfo*>> steps;
  };

  template <class T>
  static void add(All& all) {
    static_assert(std::is_base_of_v<Workflow, T>, "a workflow is a class that is a public Workflow");
    WorkflowInfo& info = all.workflows.emplace_back();
    info.settings = &T::settings;
    info.name = info.settings->name != nullptr ? std::string(info.settings->name) : std::string(class_name<T>());
    info.make = [] { return static_cast<Workflow*>(new T); };
    info.destroy = [](Workflow* user) { delete static_cast<T*>(user); };
    Steps<T> steps(info.steps);
    T::steps(steps);
  }
  template <class... Ts>
  static All& of() {
    static All all = [] {
      All made;
      made.workflows.reserve(sizeof...(Ts));
      (add<Ts>(made), ...);
      for (const WorkflowInfo& workflow : made.workflows) {
        for (const StepInfo& step : workflow.steps) made.steps.emplace_back(&workflow, &step);
      }
      return made;
    }();
    return all;
  }

  template <class T>
  static constexpr std::string_view class_name() {
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("T = ") + 4);
    text = text.substr(0, text.find_first_of(";]"));
    const std::size_t colon = text.rfind(':');
    return colon == std::string_view::npos ? text : text.substr(colon + 1);
  }

  static void describe(const All& all, bellwether_tell tell, void* to);

  static Strand* take() {
    if (pool.free.empty()) return &pool.all.emplace_front();
    Strand* strand = pool.free.back();
    pool.free.pop_back();
    return strand;
  }
  static void give_back(Strand* strand) {
    strand->live = 0;
    pool.free.push_back(strand);
  }

  static void* begin(const All& all, uint32_t number, void* user, bellwether_run* run) noexcept {
    Strand* strand = nullptr;
    try {
      const auto& [workflow, step] = all.steps.at(number);
      auto& state = *static_cast<UserState*>(user);
      if (state.object == nullptr) make(state, *workflow);
      strand = take();
      strand->run = run;
      strand->user = state.object;
      strand->step = step;
      strand->measured = 0;
      state.object->strand_ = strand;
      if (step->test != nullptr) {
        hold(*strand, (state.object->*step->test)());
      } else {
        hold(*strand, (state.object->*step->action)());
      }
    } catch (...) {
      if (strand != nullptr) give_back(strand);
      tell_failure(run, std::current_exception());
      return nullptr;
    }
    return resume(strand) ? strand : nullptr;
  }

  // Whether it is waiting.
  static bool resume(Strand* strand) noexcept {
    strand->user->strand_ = strand;
    strand->leaf.resume();
    strand->user->strand_ = nullptr;
    if (!strand->root.done()) return true;
    end(*strand);
    strand->root.destroy();
    give_back(strand);
    return false;
  }

  static void abandon(Strand* strand) noexcept {
    strand->root.destroy();
    give_back(strand);
  }

 private:
  struct Pool {
    std::forward_list<Strand> all;
    std::vector<Strand*> free;
  };
  static inline Pool pool;

  static void make(UserState& state, const WorkflowInfo& workflow) {
    making = &state;
    struct Made {
      ~Made() { making = nullptr; }
    } made;
    state.object = workflow.make();
    state.workflow = &workflow;
  }

  template <class T>
  static void hold(Strand& strand, Task<T> task) {
    const auto handle = task.release();
    handle.promise().strand = &strand;
    strand.promise = &handle.promise();
    strand.root = strand.leaf = handle;
  }

  static void end(Strand& strand) noexcept {
    if (strand.promise->error) return tell_failure(strand.run, strand.promise->error);
    if (strand.step->test == nullptr) return host->end(strand.run);
    const uint32_t number = number_of(static_cast<Promise<Response>*>(strand.promise)->value);
    if (number != 0 && number == strand.measured) return host->end(strand.run);
    static constexpr std::string_view kNone = "a test step returns the response that is to be measured";
    static constexpr std::string_view kOther =
        "the step returned another response than that of its last measured request: await the one to return last, or "
        "say .unmeasured() of those that follow it";
    host->fail(strand.run, to_abi(number == 0 ? kNone : kOther));
  }

  static void tell_failure(bellwether_run* run, const std::exception_ptr& error) noexcept {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      host->fail(run, to_abi(known.what()));
    } catch (...) {
      host->fail(run, to_abi("something was thrown that is no std::exception"));
    }
  }
};

inline std::string to_yaml(Duration span) {
  struct Unit {
    int64_t ns;
    const char* name;
  };
  for (const Unit unit : {Unit{60'000'000'000, "m"}, Unit{1'000'000'000, "s"}, Unit{1'000'000, "ms"}}) {
    if (span.ns % unit.ns == 0) return std::to_string(span.ns / unit.ns) + unit.name;
  }
  return std::to_string(span.ns) + "ns";
}

inline void Runner::describe(const All& all, bellwether_tell tell, void* to) {
  if (scenario_text.size() > 0) tell(to, BELLWETHER_SCENARIO, scenario_line, {}, to_abi(scenario_text));
  for (const WorkflowInfo& workflow : all.workflows) {
    const Settings& given = *workflow.settings;
    tell(to, BELLWETHER_WORKFLOW, given.line, to_abi(workflow.name), {});
    const auto put = [&](std::string_view name, const std::string& value) {
      tell(to, BELLWETHER_SETTING, given.line, to_abi(name), to_abi(value));
    };
    const auto put_text = [&](std::string_view name, const char* value) {
      if (value != nullptr) put(name, value);
    };
    const auto put_span = [&](std::string_view name, Duration span) {
      if (span.ns != 0) put(name, to_yaml(span));
    };
    put_text("executor", given.executor);
    if (given.vus != 0) put("vus", std::to_string(given.vus));
    put_span("duration", given.duration);
    put_text("rate", given.rate);
    if (given.iterations != 0) put("iterations", std::to_string(given.iterations));
    put_span("pacing", given.pacing);
    put_span("start_time", given.start_time);
    put_span("graceful_stop", given.graceful_stop);
    put_text("priority", given.priority);
    if (given.depends != nullptr) put("depends", "[" + std::string(given.depends) + "]");
    if (given.more != nullptr) tell(to, BELLWETHER_MORE, given.line, {}, to_abi(given.more));
    for (const StepInfo& step : workflow.steps) {
      tell(to, step.test != nullptr ? BELLWETHER_STEP : BELLWETHER_ACTION, step.line, to_abi(step.name), {});
      for (const Told& one : step.told) tell(to, one.kind, step.line, to_abi(one.name), to_abi(one.value));
    }
  }
}

inline bool give_scenario(std::string_view text, uint32_t last_line) {
  scenario_text = text;
  scenario_line = last_line;
  for (const char c : text) scenario_line -= c == '\n' ? 1 : 0;
  return true;
}

template <class... Ts>
constexpr bellwether_program program(const char* source) {
  bellwether_program table{};
  table.version = BELLWETHER_ABI_VERSION;
  table.size = sizeof table;
  table.source = source;
  table.use = [](const bellwether_host* given) { host = given; };
  table.describe = [](bellwether_tell tell, void* to) -> bellwether_text {
    try {
      Runner::describe(Runner::of<Ts...>(), tell, to);
      return {};
    } catch (const std::exception& error) {
      static std::string why;
      why = error.what();
      return to_abi(why);
    }
  };
  table.find = [](bellwether_text name) noexcept {
    const auto& steps = Runner::of<Ts...>().steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].first->name + "." + steps[i].second->name == from_abi(name)) return static_cast<uint32_t>(i);
    }
    return UINT32_MAX;
  };
  table.new_user = [](uint32_t number) noexcept { return static_cast<void*>(new UserState{.number = number}); };
  table.delete_user = [](void* user) noexcept {
    auto* state = static_cast<UserState*>(user);
    if (state->object != nullptr) state->workflow->destroy(state->object);
    delete state;
  };
  table.begin_iteration = [](void* user, uint64_t iteration) noexcept {
    static_cast<UserState*>(user)->iteration = iteration;
  };
  table.begin = [](uint32_t step, void* user, bellwether_run* run) noexcept {
    return Runner::begin(Runner::of<Ts...>(), step, user, run);
  };
  table.go_on = [](void* strand) noexcept { Runner::resume(static_cast<Strand*>(strand)); };
  table.abandon = [](void* strand) noexcept { Runner::abandon(static_cast<Strand*>(strand)); };
  return table;
}

}  // namespace detail

}  // namespace bellwether::workflow
