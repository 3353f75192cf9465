// The part of workflow.h about coroutines and the declarations of steps.
#pragma once

#include "bellwether/workflow.h"

namespace bellwether::workflow {

template <class T = void>
class Task;

namespace detail {

// The place of a name of a request in the list of its step, from 1; 0 of an empty name.
inline uint16_t place_of_request(const Strand& strand, const std::string& name);

}  // namespace detail

// --- waits of a coroutine --------------------------------------------------------------------------------------------

struct ExchangeWait {
  detail::Strand& strand;
  const Request& request;
  bool once;  // nothing is prepared for it
  bellwether_text why{};

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waits) {
    strand.leaf = waits;
    strand.live = 0;
    const uint16_t name = detail::place_of_request(strand, request.name_);
    if (!once && !request.looked_) {
      request.looked_ = true;
      if (request.timeout_.ns == 0) {
        request.prepared_ = request.use(name, [&](const auto& one) { return detail::host->prepare(strand.run, &one); });
      }
    }
    if (request.prepared_ != nullptr) {
      detail::host->send_prepared(strand.run, request.prepared_, request.measured_ ? 1 : 0, name);
      return true;
    }
    return request.use(name, [&](const auto& one) { return detail::host->send(strand.run, &one, &why); }) != 0;
  }
  Response await_resume() {
    if (why.data != nullptr) fail(std::string(detail::from_abi(why)));
    strand.live = ++detail::responses;
    Response response(strand);
    if (request.measured_) strand.measured = number_of(response);
    return response;
  }
};

struct SleepWait {
  detail::Strand& strand;
  Duration span;

  bool await_ready() const noexcept { return span.ns <= 0; }
  void await_suspend(std::coroutine_handle<> waits) {
    strand.leaf = waits;
    detail::host->sleep(strand.run, span.ns);
  }
  void await_resume() const noexcept {}
};

namespace detail {

struct PromiseBase {
  Strand* strand = nullptr;
  std::coroutine_handle<> awaited_by;
  std::exception_ptr error;

  static void* operator new(std::size_t size) { return frames.take(size); }
  static void operator delete(void* frame, std::size_t size) { frames.give_back(frame, size); }

  struct End {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const std::coroutine_handle<> next = ended.promise().awaited_by;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  End final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  ExchangeWait await_transform(const Request& request) { return {*strand, request, false}; }
  ExchangeWait await_transform(Request&& request) { return {*strand, request, true}; }
  SleepWait await_transform(Sleep sleep) { return {*strand, sleep.span}; }
  template <class T>
  auto await_transform(Task<T>&& task) {
    return std::move(task).wait_in(*strand);
  }
};

template <class T>
struct Promise : PromiseBase {
  T value{};
  Task<T> get_return_object();
  template <class From>
  void return_value(From&& from) {
    value = std::forward<From>(from);
  }
  T take() { return std::move(value); }
};
template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace detail

// A member coroutine: a step, or a part of a step that the step awaits. Begins when it is awaited.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

 private:
  friend struct detail::PromiseBase;
  friend struct detail::Runner;
  struct Wait {
    std::coroutine_handle<promise_type> handle;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waits) const noexcept {
      handle.promise().awaited_by = waits;
      return handle;
    }
    T await_resume() const {
      if (handle.promise().error) std::rethrow_exception(handle.promise().error);
      return handle.promise().take();
    }
  };
  Wait wait_in(detail::Strand& strand) && {
    handle_.promise().strand = &strand;
    return {handle_};
  }
  std::coroutine_handle<promise_type> release() { return std::exchange(handle_, nullptr); }
  std::coroutine_handle<promise_type> handle_;
};
using Action = Task<>;

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// --- steps -----------------------------------------------------------------------------------------------------------

namespace detail {

struct Told {
  uint32_t kind;
  std::string name, value;
};

struct StepInfo {
  std::string name;
  uint32_t line = 0;
  Task<Response> (Workflow::*test)() = nullptr;
  Task<> (Workflow::*action)() = nullptr;
  std::vector<Told> told;
  std::vector<std::string> checks, sets, arguments, requests;
};

}  // namespace detail

// The declaration of one step.
class Step {
 public:
  explicit Step(std::vector<detail::StepInfo>& steps) : steps_(steps), index_(steps.size() - 1) {}
  // Names of steps of this workflow that come before it.
  template <class... Names>
  Step& after(Names... names) {
    (tell(BELLWETHER_AFTER, names, {}), ...);
    return *this;
  }
  // Names of the checks that it makes with check().
  template <class... Names>
  Step& checks(Names... names) {
    (tell_in(info().checks, BELLWETHER_CHECK, names, {}), ...);
    return *this;
  }
  // Names of the values that it gives with set(): later steps, and the texts of the scenario, have them as
  // ${STEP.NAME}.
  template <class... Names>
  Step& sets(Names... names) {
    (tell_in(info().sets, BELLWETHER_SET, names, {}), ...);
    return *this;
  }
  // Names under which it measures requests, with .name() of a request: each has figures like a step of its own.
  template <class... Names>
  Step& requests(Names... names) {
    (tell_in(info().requests, BELLWETHER_REQUEST, names, {}), ...);
    return *this;
  }
  // A text with the templates of a scenario, for argument(): argument("user", "${USER}").
  Step& argument(std::string name, std::string text) {
    tell_in(info().arguments, BELLWETHER_ARGUMENT, std::move(name), std::move(text));
    return *this;
  }
  // All other keys that a step of a scenario has, as YAML: "think: 1s, on_error: skip".
  Step& more(std::string yaml) {
    tell(BELLWETHER_MORE, {}, std::move(yaml));
    return *this;
  }

 private:
  void tell(uint32_t kind, std::string name, std::string value) {
    info().told.push_back({kind, std::move(name), std::move(value)});
  }
  void tell_in(std::vector<std::string>& names, uint32_t kind, std::string name, std::string value) {
    names.push_back(name);
    tell(kind, std::move(name), std::move(value));
  }
  detail::StepInfo& info() { return steps_[index_]; }
  std::vector<detail::StepInfo>& steps_;
  std::size_t index_;
};

template <class T>
class Steps {
 public:
  explicit Steps(std::vector<detail::StepInfo>& out) : out_(out) {}
  template <class R, class C>
  Step step(std::string name, Task<R> (C::*does)(), uint32_t line = static_cast<uint32_t>(__builtin_LINE())) {
    constexpr bool kTest = std::is_same_v<R, Response>;
    static_assert(kTest || std::is_void_v<R>, "a step returns Task<Response> (a test step) or Task<> (an action)");
    detail::StepInfo& made = out_.emplace_back();
    made.name = std::move(name);
    made.line = line;
    if constexpr (kTest) {
      made.test = static_cast<Task<Response> (Workflow::*)()>(static_cast<Task<R> (T::*)()>(does));
    } else if constexpr (std::is_void_v<R>) {
      made.action = static_cast<Task<> (Workflow::*)()>(static_cast<Task<R> (T::*)()>(does));
    }
    return Step(out_);
  }
  template <class Other>
  Step step(std::string, Other, uint32_t = 0) {
    static_assert(std::is_void_v<Other> && sizeof(Other) == 0,
                  "a step is a member coroutine without parameters: Task<Response> NAME()");
    return Step(out_);
  }

 private:
  std::vector<detail::StepInfo>& out_;
};

}  // namespace bellwether::workflow

#include "bellwether/workflow_user.h"
