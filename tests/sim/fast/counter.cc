#include "tests/sim/fast/counter.h"

#include "core/base/prng.h"
#include "tests/sim/fast/framing.h"

namespace bellwether::sim {
namespace {

constexpr std::size_t kRecordBytes = 24;

// Depends on the position, so that a record of an earlier life of the file is none of this one.
uint64_t checksum(const Increment& increment, uint64_t position) {
  return Prng(increment.client * 1'000'003 + increment.request + (position << 40)).next();
}

std::string name_of(const Increment& increment) {
  return "increment " + std::to_string(increment.request) + " of client " + std::to_string(increment.client);
}

}  // namespace

void append_record(std::string& log, const Increment& increment, uint64_t position) {
  put_number(log, increment.client);
  put_number(log, increment.request);
  put_number(log, checksum(increment, position));
}

std::vector<Increment> read_log(std::string_view text) {
  std::vector<Increment> log;
  for (; text.size() >= kRecordBytes; text.remove_prefix(kRecordBytes)) {
    const Increment increment{number_at(text, 0), number_at(text, 8)};
    if (number_at(text, 16) != checksum(increment, log.size())) break;
    log.push_back(increment);
  }
  return log;
}

void CounterChecker::violated(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

void CounterChecker::acknowledged(const Increment& increment, uint64_t value) {
  const auto [by_value, new_value] = by_value_.emplace(value, increment);
  if (!new_value && by_value->second != increment) {
    violated(name_of(increment) + " and " + name_of(by_value->second) + " both made the counter " +
             std::to_string(value));
  }
  const auto [known, is_new] = acknowledged_.emplace(increment, value);
  if (is_new) ++counts_[increment.client];
  if (!is_new && known->second != value) {
    violated(name_of(increment) + " was applied twice: it made the counter " + std::to_string(known->second) + " and " +
             std::to_string(value));
  }
}

void CounterChecker::recovered(const std::vector<Increment>& log) {
  const std::set<Increment> known(log.begin(), log.end());
  if (known.size() != log.size()) violated("an increment is in the log twice");
  for (const auto& [increment, value] : acknowledged_) {
    if (value > log.size() || log[value - 1] != increment) {
      violated(name_of(increment) + " was acknowledged with the value " + std::to_string(value) + " and is lost");
    }
  }
}

uint64_t CounterChecker::acknowledged_of(uint64_t client) const {
  const auto count = counts_.find(client);
  return count == counts_.end() ? 0 : count->second;
}

}  // namespace bellwether::sim
