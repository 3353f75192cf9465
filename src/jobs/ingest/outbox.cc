#include "jobs/ingest/outbox.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::ingest {

void Outbox::add(std::string second, bool is_whole) {
  ++last_;
  kept_.push_back({{last_, last_, std::move(second)}, false, is_whole});
  bytes_ += kept_.back().delta.window.size();
  make_room();
}

std::optional<Delta> Outbox::next(uint64_t seconds_most) {
  std::size_t under_way = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].delta.last <= applied_) continue;
    if (kept_[i].delta.first <= sent_) {
      ++under_way;
      continue;
    }
    if (under_way >= kUnderWay) return std::nullopt;
    while (can_merge(i) && kept_[i + 1].delta.last - kept_[i].delta.first < seconds_most) merge_at(i);
    Kept& one = kept_[i];
    one.ever_sent = true;
    sent_ = one.delta.last;
    ever_sent_ = std::max(ever_sent_, sent_);
    return one.delta;
  }
  return std::nullopt;
}

Status Outbox::answered(uint64_t applied, uint64_t durable) {
  if (applied > ever_sent_ || durable > applied) {
    return fail(Errc::kProtocol,
                "an owner claims to have applied windows up to {} and stored them up to {}, but only {} were sent",
                applied, durable, ever_sent_);
  }
  // A delta that was to be sent again may have arrived after all.
  applied_ = std::max(applied_, applied);
  sent_ = std::max(sent_, applied);
  forgotten_ = std::max(forgotten_, durable);
  while (!kept_.empty() && kept_.front().delta.last <= forgotten_) {
    bytes_ -= kept_.front().delta.window.size();
    kept_.pop_front();
  }
  return {};
}

Status Outbox::resume(uint64_t applied) {
  if (applied > last_) {
    return fail(Errc::kProtocol,
                fmt::format("an owner claims to have applied {} seconds, but only {} exist", applied, last_));
  }
  const uint64_t from = std::max(applied, forgotten_);
  applied_ = sent_ = from;
  if (from == applied) return {};
  BW_PROBE("ingest: an owner lacks what was forgotten");
  return fail(Errc::kNotFound, "seconds {} to {} were durable before and are lost now", applied + 1, from);
}

std::vector<const Delta*> Outbox::beyond(uint64_t number) const {
  std::vector<const Delta*> out;
  for (const Kept& one : kept_) {
    if (one.delta.last > number) out.push_back(&one.delta);
  }
  return out;
}

// Merges two neighbours at a time, first those that cover the fewest seconds: all stay about equally fine.
void Outbox::make_room() {
  while (bytes_ > bytes_most_) {
    std::size_t best = kept_.size();
    uint64_t fewest = 0;
    for (std::size_t i = 0; i + 1 < kept_.size(); ++i) {
      if (!can_merge(i)) continue;
      const uint64_t span = kept_[i + 1].delta.last - kept_[i].delta.first + 1;
      if (best != kept_.size() && span >= fewest) continue;
      best = i;
      fewest = span;
    }
    if (best == kept_.size()) return;
    BW_PROBE("ingest: seconds are merged to save memory");
    merge_at(best);
  }
}

bool Outbox::can_merge(std::size_t at) const {
  const auto may_merge = [this](std::size_t i) { return !kept_[i].ever_sent && kept_[i].is_whole; };
  return at + 1 < kept_.size() && may_merge(at) && may_merge(at + 1);
}

void Outbox::merge_at(std::size_t at) {
  Kept& left = kept_[at];
  Kept& right = kept_[at + 1];
  auto first = decode_window(left.delta.window, shape_);
  const auto second = decode_window(right.delta.window, shape_);
  check(first.has_value() && second.has_value(), "what was encoded here can be decoded here");
  const uint64_t began = first->second;
  // Gauges do not add up over time: the later ones count, as in any series.
  for (std::size_t i = 0; i < shape_.workflows; ++i) {
    first->workflows[i].vus_active = 0;
    first->workflows[i].vus_allocated = 0;
    first->workflows[i].ran += second->workflows[i].ran;
  }
  first->merge(*second);
  first->second = began;
  bytes_ -= left.delta.window.size() + right.delta.window.size();
  left.delta.window = encode_window(*first);
  left.delta.last = right.delta.last;
  bytes_ += left.delta.window.size();
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
}

}  // namespace bellwether::ingest
