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

runtime::task<void> generate_part(runtime::Runtime* runtime, Load* load, uint32_t part, vuser::SpareUsers* spare) {
  Window window({1, 1, 0});
  Sink sink(*load);
  vuser::Engine engine(*runtime, load->plan, {.part = part, .parts = load->parts, .workflows = {}}, sink, &window,
                       nullptr, {}, nullptr, spare);
  const Status prepared = engine.prepare();
  check(prepared.has_value(), "this plan is right");
  co_await engine.run(runtime->now());
}

}  // namespace

Load::Load(const plan::QuickRun& run) : plan(*plan::make_plan(run)), total({1, 1, 0}) {}

runtime::task<void> generate_load(runtime::Runtime& runtime, void* context) {
  auto& load = *static_cast<Load*>(context);
  vuser::SpareUsers spare(1, load.parts);
  std::vector<runtime::task<void>> parts;
  for (uint32_t part = 0; part < load.parts; ++part) parts.push_back(generate_part(&runtime, &load, part, &spare));
  for (runtime::task<void>& part : parts) co_await part;
  load.over = true;
}

}  // namespace bellwether::sim
