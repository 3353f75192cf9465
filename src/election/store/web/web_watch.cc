#include "election/store/web/web_watch.h"

#include <utility>

#include "election/store/pauses.h"

namespace bellwether::store {

using runtime::task;

task<bool> WebWatch::changed(runtime::Cancellation* cancel) {
  if (!keeping_.valid()) keeping_ = keep(this);
  runtime::CancelCallback on_cancel(
      cancel, [](void* self) { static_cast<WebWatch*>(self)->woken_.set(); }, this);
  co_await woken_.wait();
  woken_.reset();
  if (cancel != nullptr && cancel->cancelled()) {
    keeping_ = {};
    co_return false;
  }
  co_return std::exchange(may_have_, false);
}

task<void> WebWatch::keep(WebWatch* self) {
  Pauses pauses;
  while (true) {
    const Instant begun = self->runtime_.read_clock();
    const Status ended = co_await self->source_.listen(*self, begun + kBeginWithin, begun + kLife);
    self->refused_ = refusal_in(ended);
    const Duration lived = self->runtime_.read_clock() - begun;
    const Duration pause = pauses.next(lived, ended, self->runtime_.prng());
    if (pause > Duration::zero()) co_await self->runtime_.sleep(pause);
  }
}

bool WebWatch::on_line(std::string_view line) {
  const Word word = source_.hear(line);
  if (word == Word::kChanged) {
    may_have_ = true;
    woken_.set();
  }
  return word != Word::kEnd;
}

}  // namespace bellwether::store
