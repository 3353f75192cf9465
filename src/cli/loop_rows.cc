#include "cli/loop_rows.h"

#include <utility>

#include "core/base/units.h"
#include "core/runtime/scope.h"
#include "election/store/open_store.h"

namespace bellwether::cli {
namespace {

runtime::task<void> look_at(runtime::Runtime& runtime, LoopRow& row, Duration timeout) {
  auto store = co_await store::open_store(runtime, row.loop.store);
  if (!store) {
    row.seen = tl::unexpected(store.error());
    co_return;
  }
  auto key = (*store)->open(row.loop.lock_key);
  if (!key) {
    row.seen = tl::unexpected(key.error());
    co_return;
  }
  const Instant deadline = runtime.read_clock() + timeout;
  row.seen = co_await (*key)->look(deadline, nullptr);
  for (const std::string& data : row.loop.guards) {
    auto time = co_await (*store)->idle_time(data, deadline, nullptr);
    const bool unknown = !time && time.error().code == Errc::kUnsupported;
    if (!unknown) row.idle.push_back({data, std::move(time)});
  }
}

}  // namespace

runtime::task<void> look_at_loops(runtime::Runtime& runtime, std::vector<LoopRow>& rows, Duration timeout) {
  runtime::Scope scope;
  for (LoopRow& row : rows) scope.spawn(look_at(runtime, row, timeout));
  co_await scope.join();
}

std::string idle_text(const LoopRow& row) {
  std::string text;
  for (const IdleData& idle : row.idle) {
    if (!text.empty()) text += ", ";
    text += idle.data + " " + (idle.time ? format_duration(*idle.time) : std::string("(not there)"));
  }
  return text.empty() ? "-" : text;
}

}  // namespace bellwether::cli
