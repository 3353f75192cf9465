// Something of a simulated process that the simulated kernel reports on: the counterpart of a descriptor in epoll. The
// kernel marks it at any time; the process looks at it in its next turn, which comes later when the process is paused.
#pragma once

namespace bellwether::sim {

class SimRuntime;

class Source {
 public:
  explicit Source(SimRuntime& runtime) : runtime_(runtime) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source();

  // Asks for on_ready() in the next turn; once, however often it is asked for.
  void mark();
  // In a turn of the process: announces what has become possible. Resumes nothing and destroys nothing.
  virtual void on_ready() = 0;

 protected:
  SimRuntime& runtime() { return runtime_; }

 private:
  friend class SimRuntime;
  SimRuntime& runtime_;
  bool marked_ = false;
};

}  // namespace bellwether::sim
