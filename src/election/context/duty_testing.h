// One node that leads, for tests: a register and payloads that answer at once unless they are held, and a log of all
// effects.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "election/context/duty_leader.h"
#include "election/context/sha256_testing.h"

namespace bellwether::context_lead {

inline RequestId id_of(uint64_t number) { return {1, number}; }

class DutyTest : public testing::Test {
 protected:
  DutyTest() { make(); }
  void make() {
    config.self = NodeId(1);
    config.members = {NodeId(1), NodeId(2), NodeId(3)};
    config.digest = sha256;
    kernel = std::make_unique<DutyLeader>(config, 7);
  }
  Moment at() const { return {now, {1'700'000'000'000'000'000 + now.ns()}}; }
  DutyStatus status() const { return kernel->status(at().wall); }
  void say(const Event& event) {
    Effects out;
    kernel->step(at(), event, out);
    carry_out(std::move(out));
  }
  void run(Duration span) {
    const Instant end = now + span;
    while (kernel->wake() <= end) {
      now = std::max(now, kernel->wake());
      say(Tick{});
    }
    now = end;
  }
  void carry_out(Effects effects) {
    for (Effect& effect : effects) {
      log.push_back(effect);
      if (const auto* take = std::get_if<TakeRegister>(&effect)) {
        if (!holds_register) say(RegisterTaken{take->ticket, value});
      } else if (const auto* write = std::get_if<WriteRegister>(&effect)) {
        if (!holds_register) {
          value = write->value;
          say(RegisterWritten{write->ticket});
        }
      } else if (const auto* keep = std::get_if<KeepPayload>(&effect)) {
        payloads[keep->id] = keep->payload;
        if (!holds_payloads) say(PayloadKept{keep->id, true, {}});
      } else if (const auto* fetch = std::get_if<FetchPayload>(&effect)) {
        if (!holds_payloads) {
          say(PayloadFetched{fetch->id, fetch->fence, PayloadFetched::Found::kHere, payloads[fetch->id], {}});
        }
      } else if (std::holds_alternative<CheckHealth>(effect)) {
        say(health);
      }
    }
  }
  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Effect& effect : log) {
      if (const auto* one = std::get_if<Kind>(&effect)) found.push_back(*one);
    }
    return found;
  }
  // The callbacks in the log, in order; of an error how severe it is.
  std::vector<std::string> callbacks() const {
    constexpr const char* kSeverities[] = {"info", "warning", "critical"};
    std::vector<std::string> names;
    for (const Effect& effect : log) {
      if (std::holds_alternative<BecameLeader>(effect)) names.emplace_back("become");
      if (std::holds_alternative<LostLeadership>(effect)) names.emplace_back("lose");
      if (std::holds_alternative<LeaderChanged>(effect)) names.emplace_back("changed");
      if (std::holds_alternative<GenerationStarted>(effect)) names.emplace_back("started");
      if (std::holds_alternative<GenerationStopped>(effect)) names.emplace_back("stopped");
      if (std::holds_alternative<FailedOver>(effect)) names.emplace_back("failover");
      if (const auto* error = std::get_if<DutyError>(&effect)) names.emplace_back(kSeverities[int(error->severity)]);
    }
    return names;
  }
  Status submit(uint64_t number, uint8_t priority = 0) {
    Effects out;
    const Status status = kernel->submit(at(), number, {id_of(number), priority, at().wall, "do it"}, out);
    carry_out(std::move(out));
    return status;
  }
  Status transfer(uint64_t target) {
    Effects out;
    const Status status = kernel->transfer(at(), NodeId(target), "maintenance", "operator", out);
    carry_out(std::move(out));
    return status;
  }
  Status register_manager(uint32_t slots = 1) {
    Effects out;
    const Status status = kernel->register_manager(at(), {"command", slots}, out);
    carry_out(std::move(out));
    return status;
  }
  Status start() {
    Effects out;
    const Status status = kernel->start_generation(at(), out);
    carry_out(std::move(out));
    return status;
  }
  Status stop() {
    Effects out;
    const Status status = kernel->stop_generation(at(), "a test", out);
    carry_out(std::move(out));
    return status;
  }
  void end(const RunJob& job, JobEnded::End how = JobEnded::End::kDone) {
    say(JobEnded{job.request.id, job.fence, how, "no luck"});
  }
  // Leads under epoch 5, and generates.
  void lead(uint32_t slots = 1) {
    ASSERT_TRUE(register_manager(slots));
    say(Elected{Epoch(5)});
    run(Duration::seconds(5));
    ASSERT_EQ(kernel->duty(), Duty::kGenerating);
    log.clear();
  }
  bool was_accepted(uint64_t ticket) const {
    const std::vector<SubmitAnswered> answers = all<SubmitAnswered>();
    return std::any_of(answers.begin(), answers.end(),
                       [&](const auto& one) { return one.ticket == ticket && one.status.has_value(); });
  }

  DutyConfig config;
  std::unique_ptr<DutyLeader> kernel;
  Instant now = Instant::from_ns(1'000'000'000);
  std::string value;
  std::map<RequestId, std::string> payloads;
  HealthReport health{{{NodeId(1), 1.0}, {NodeId(2), 1.0}, {NodeId(3), 0.9}}};
  bool holds_register = false;
  bool holds_payloads = false;
  Effects log;
};

class DutyLed : public DutyTest {
 protected:
  void SetUp() override { lead(); }
};

// It was asked for one job.
class DutyWithRequest : public DutyLed {
 protected:
  void SetUp() override {
    DutyLed::SetUp();
    ASSERT_TRUE(submit(1));
  }
};

// The register has not answered yet.
class DutyWriting : public DutyLed {
 protected:
  void SetUp() override {
    DutyLed::SetUp();
    holds_register = true;
    ASSERT_TRUE(submit(1));
  }
};

}  // namespace bellwether::context_lead
