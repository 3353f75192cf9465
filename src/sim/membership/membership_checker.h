// What must hold in every membership world, whatever breaks: nobody but its owner raises an incarnation; and once the
// world is whole again and a bound has passed, every view shows exactly the processes that run, and nobody who lives is
// declared dead any more.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/membership/member_world.h"

namespace bellwether::sim {

class MembershipChecker {
 public:
  explicit MembershipChecker(const MemberWorld& world) : world_(world) {}

  // A process under this name begins with this incarnation, or has raised it.
  void issued(const std::string& name, uint32_t incarnation);
  void saw(std::size_t node, const membership::MemberEvent& event, Instant world);
  // From now on no death of a running process is excused.
  void calm() { calm_ = true; }
  void fail(const std::string& text, Instant world);

  // Empty when all views agree with the world; else what is wrong in one of them.
  std::string disagreement() const;
  const std::string& violation() const { return violation_; }

 private:
  std::string wrong_in(std::size_t node) const;

  const MemberWorld& world_;
  std::map<std::string, uint32_t> issued_;
  bool calm_ = false;
  std::string violation_;
};

}  // namespace bellwether::sim
