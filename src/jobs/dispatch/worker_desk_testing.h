// A worker's desk and somebody who writes to it, for tests.
#pragma once

#include <gmock/gmock.h>
#include <string>

#include "jobs/dispatch/worker_desk.h"

namespace bellwether::dispatch {

class WorkerDeskTest : public testing::Test {
 protected:
  static constexpr const char* kBundle = "b0b0";

  explicit WorkerDeskTest(uint32_t cores = 4) { reset({.cores = cores}); }
  void reset(WorkerDeskConfig config) { desk_.emplace(config); }

  static ShareKey key(uint32_t share, const std::string& job = "j1") { return {job, ShareId(share)}; }

  ShareOrder order(uint32_t share, uint64_t fence = 5, uint32_t cores = 1, const std::string& job = "j1") const {
    ShareOrder made;
    made.job = job;
    made.share = ShareId(share);
    made.fence = JobFence(fence);
    made.parts = {0, cores, 16};
    made.cores = cores;
    made.bundle = kBundle;
    return made;
  }

  // --- what happens to it; what it does is in out_
  void step(const DeskEvent& event) {
    out_.clear();
    desk_->step(now_, event, out_);
  }
  void pass(Duration span) {
    now_ += span;
    step(desk_event::Tick{});
  }
  void write(Letter letter, const std::string& from = "m1") {
    step(desk_event::Asked{++ticket_, from, std::move(letter)});
  }
  void offer(const ShareOrder& order, const std::string& from = "m1") { write(Offer{order}, from); }
  void bring_bundle(const std::string& job = "j1") { write(BundleLetter{job, kBundle, "the bytes"}); }
  // Offered, and its process says that it can begin.
  void prepare(const ShareOrder& order, const std::string& from = "m1") {
    bring_bundle(order.job);
    offer(order, from);
    ASSERT_NE(first<desk_effect::Start>(), nullptr) << "it was not taken";
    step(desk_event::Prepared{{order.job, order.share}, Duration::seconds(30)});
  }
  void begin(uint32_t share, uint64_t fence = 5, const std::string& job = "j1") {
    write(BeginLetter{job, JobFence(fence), ShareId(share), Duration::zero(), false, 0});
  }
  void run(const ShareOrder& order) {
    prepare(order);
    begin(order.share.value(), order.fence.value(), order.job);
    ASSERT_NE(first<desk_effect::Begin>(), nullptr) << "it was not begun";
  }
  void tell_end(uint32_t share, ShareOutcome outcome, std::string detail = {}) {
    step(desk_event::Ended{key(share), {outcome, std::move(detail), 0, Duration::seconds(3)}});
  }
  void hear(const std::string& from = "m1") { step(desk_event::OwnerAnswered{"j1", from}); }

  // --- what it did in the last step
  template <class Effect>
  const Effect* first() const {
    for (const DeskEffect& effect : out_) {
      if (const auto* found = std::get_if<Effect>(&effect)) return found;
    }
    return nullptr;
  }
  template <class Effect>
  std::size_t count() const {
    std::size_t found = 0;
    for (const DeskEffect& effect : out_) found += std::holds_alternative<Effect>(effect) ? 1 : 0;
    return found;
  }
  // Of what was written last, or of the ticket that is named.
  const Response* answer(uint64_t ticket = 0) const {
    for (const DeskEffect& effect : out_) {
      const auto* found = std::get_if<desk_effect::Answer>(&effect);
      if (found != nullptr && found->ticket == (ticket == 0 ? ticket_ : ticket)) return &found->response;
    }
    return nullptr;
  }
  bool noted(uint64_t ticket = 0) const {
    const Response* found = answer(ticket);
    return found != nullptr && std::holds_alternative<Noted>(*found);
  }
  const Refusal* refused(uint64_t ticket = 0) const {
    const Response* found = answer(ticket);
    return found == nullptr ? nullptr : std::get_if<Refusal>(found);
  }
  void expect_refused(Refusal::Kind kind, const std::string& why) const {
    ASSERT_NE(refused(), nullptr) << "nothing was refused";
    EXPECT_EQ(refused()->kind, kind);
    EXPECT_THAT(refused()->why, testing::HasSubstr(why));
  }
  uint32_t held() const { return static_cast<uint32_t>(desk_->report().held.size()); }

  std::optional<WorkerDesk> desk_;
  DeskEffects out_;
  Instant now_ = Instant::from_ns(1'000'000'000'000);
  uint64_t ticket_ = 0;
};

}  // namespace bellwether::dispatch
