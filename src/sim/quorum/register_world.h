// A world of peers that keep the register of one job: the product's acceptor and owner in each, and between and under
// them networks, disks and clocks that break as one seed says, while everybody wants to own the job, write it and read
// it. A checker compares every answer with the history: writes and reads must take effect one after the other, each
// between its asking and its answer (linearizability, Herlihy and Wing, 1990), no two owners may have one fence, and no
// two may believe at once that they hold the job. At last everything is made whole, and somebody must own it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bellwether::sim {

enum class RegisterMistake : uint8_t {
  kNone,
  kPromiseForgotten,     // an acceptor comes back without what it had promised
  kAnswerBeforeDurable,  // an answer leaves before it is on the disk
  kDiskErrorIgnored,     // a write that failed counts as done
  kLiveMajority,         // a majority of those that are up
  kNoMarginForDrift,     // clocks are taken to run alike
  kLeaseForgotten,       // after a restart the job is given to anybody at once
  kReadsUnconfirmed,     // who owned the job once reads what it knows of it without asking anybody
  kNewestNotLearnt,      // an owner begins with what it knew itself
};
inline constexpr int kRegisterMistakes = static_cast<int>(RegisterMistake::kNewestNotLearnt) + 1;
std::string_view to_string(RegisterMistake mistake);

struct RegisterRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint32_t owners = 0;  // take-overs
  uint32_t writes = 0;
  uint32_t reads = 0;
  uint64_t events = 0;
  std::string trace;  // when asked for: what happened, a line each
};

RegisterRun live_register(uint64_t seed, RegisterMistake mistake = RegisterMistake::kNone, bool trace = false);

}  // namespace bellwether::sim
