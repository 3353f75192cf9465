#include "store/postgres/pg_watch.h"

#include <algorithm>

#include "store/disk/sha256.h"
#include "store/pauses.h"

namespace bellwether::store {
namespace {

void wake(PgWatch::Listener& listener) {
  listener.may_have = true;
  listener.changed.set();
}

}  // namespace

std::string pg_name_of(std::string_view key) { return sha256_hex(std::string(key)).substr(0, 40); }
std::string pg_notice(const std::string& name, const std::string& stamp) { return name + " " + stamp; }

void PgWatch::add(Listener& listener) {
  listeners_[listener.name].push_back(&listener);
  if (keeping_.valid()) {
    wake(listener);  // what happened before it listened was not told
  } else {
    keeping_ = keep(this);
  }
}

void PgWatch::remove(Listener& listener) {
  const auto found = listeners_.find(listener.name);
  if (found == listeners_.end()) return;
  std::erase(found->second, &listener);
  if (found->second.empty()) listeners_.erase(found);
  if (listeners_.empty()) keeping_ = {};
}

runtime::task<void> PgWatch::keep(PgWatch* self) {
  Pauses pauses;
  while (true) {
    const Instant begun = self->runtime_.read_clock();
    const Status ended = co_await self->pool_.listen("bellwether", *self);
    self->refused_ = refusal_in(ended);
    const Duration lived = self->runtime_.read_clock() - begun;
    const Duration pause = pauses.next(lived, ended, self->runtime_.prng());
    if (pause > Duration::zero()) co_await self->runtime_.sleep(pause);
  }
}

void PgWatch::hear(std::string_view told) {
  const std::size_t space = std::min(told.find(' '), told.size());
  const auto found = listeners_.find(told.substr(0, space));
  if (found == listeners_.end()) return;
  for (Listener* listener : found->second) {
    if (told != pg_notice(listener->name, listener->own_stamp)) wake(*listener);
  }
}

void PgWatch::begin() {
  for (const auto& [name, listeners] : listeners_) {
    for (Listener* listener : listeners) wake(*listener);
  }
}

}  // namespace bellwether::store
