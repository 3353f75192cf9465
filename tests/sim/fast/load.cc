#include "tests/sim/fast/load.h"

#include "core/base/check.h"
#include "load/vuser/engine.h"

namespace bellwether::sim {
namespace {

using metrics::Window;

class Sink final : public vuser::WindowSink {
 public:
  explicit Sink(Load& load) : load_(load) {}
  Window* exchange(Window* full, bool) override {
    load_.total.merge(*full);
    full->clear();
    return full;
  }
  void abort_run(std::string_view) override {}
  void note(std::string_view, std::string_view) override {}
  void timed_out(uint16_t) override {}

 private:
  Load& load_;
};

}  // namespace

Load::Load(const plan::QuickRun& run) : plan(*plan::make_plan(run)), total({1, 1, 0}) {}

runtime::task<void> generate_load(runtime::Runtime& runtime, void* context) {
  auto& load = *static_cast<Load*>(context);
  Window window({1, 1, 0});
  Sink sink(load);
  vuser::Engine engine(runtime, load.plan, {}, sink, &window);
  const Status prepared = engine.prepare();
  check(prepared.has_value(), "this plan is right");
  co_await engine.run(runtime.now());
  load.over = true;
}

}  // namespace bellwether::sim
