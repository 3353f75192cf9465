#include "sim/leadership/leadership_checker.h"

#include "base/units.h"

namespace bellwether::sim {
namespace {

std::string name(std::size_t who) { return "contender " + std::to_string(who); }
std::string show(election::Epoch epoch) { return "epoch " + std::to_string(epoch.value()); }

}  // namespace

void LeadershipChecker::fail(const std::string& text, Instant world) {
  if (violation_.empty()) violation_ = text + " (at " + format_duration(world - Instant()) + ")";
}

void LeadershipChecker::elected(std::size_t who, election::Epoch epoch, Instant world) {
  ++terms_;
  if (epoch == highest_elected_) fail("I1: a second leader in " + show(epoch) + ": " + name(who), world);
  if (epoch < highest_elected_) {
    fail("I3: " + name(who) + " was elected in " + show(epoch) + " after " + show(highest_elected_), world);
  }
  highest_elected_ = std::max(highest_elected_, epoch);
  if (running_[who].on) {
    fail("I10: " + name(who) + " begins " + show(epoch) + " while its work of " + show(running_[who].epoch) +
             " has not stopped",
         world);
  }
  running_[who] = {true, epoch};
}

void LeadershipChecker::stopped(std::size_t who, election::Epoch epoch) {
  if (running_[who].on && running_[who].epoch == epoch) running_[who].on = false;
}

void LeadershipChecker::crashed(std::size_t who) { running_[who].on = false; }

void LeadershipChecker::beside(std::size_t who, std::size_t other, Instant world, Instant until) {
  fail("I2: " + name(who) + " begins while the work of " + name(other) + " may act for another " +
           format_duration(until - world),
       world);
}

void LeadershipChecker::accepted(election::Epoch epoch, Instant world) {
  if (epoch < highest_accepted_) {
    fail("I4: the resource accepted " + show(epoch) + " after " + show(highest_accepted_), world);
  }
  highest_accepted_ = std::max(highest_accepted_, epoch);
}

void LeadershipChecker::released(std::size_t who, bool working, Instant world) {
  if (working) fail("I12: " + name(who) + " gave the key back while its work ran", world);
}

void LeadershipChecker::elected_without_claim(std::size_t who, Instant world) {
  fail("I11: " + name(who) + " leads although no store has confirmed it", world);
}

}  // namespace bellwether::sim
