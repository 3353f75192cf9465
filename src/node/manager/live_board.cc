#include "node/manager/live_board.h"

#include <algorithm>

namespace bellwether::node {

bool LiveBoard::heard(Instant now, uint64_t number, const dispatch::LiveLetter::Share& told) {
  const auto [at, is_new] = told_.try_emplace(told.share);
  Told& known = at->second;
  if (known.over || (!is_new && number <= known.number)) return false;
  if (!is_new) take_off(known.what);
  known = {number, now, told, false};
  add(told);
  ++version_;
  return true;
}

void LiveBoard::ended(dispatch::ShareId share) {
  const auto at = told_.find(share);
  if (at == told_.end() || at->second.over) return;
  at->second.over = true;
  sum_.vus -= at->second.what.vus;
  at->second.what.vus = 0;
  ++version_;
}

dispatch::LiveSum LiveBoard::sum(Instant now) const {
  dispatch::LiveSum out = sum_;
  for (const auto& [share, told] : told_) {
    if (!told.over) out.age = std::max(out.age, now - told.at);
  }
  return out;
}

void LiveBoard::add(const dispatch::LiveLetter::Share& one) {
  sum_.requests += one.requests;
  sum_.failed += one.failed;
  sum_.iterations += one.iterations;
  sum_.dropped += one.dropped;
  sum_.vus += one.vus;
}

void LiveBoard::take_off(const dispatch::LiveLetter::Share& one) {
  sum_.requests -= one.requests;
  sum_.failed -= one.failed;
  sum_.iterations -= one.iterations;
  sum_.dropped -= one.dropped;
  sum_.vus -= one.vus;
}

}  // namespace bellwether::node
