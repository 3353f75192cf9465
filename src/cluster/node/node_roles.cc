#include "cluster/node/node_roles.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "core/base/check.h"

namespace bellwether::node {

using runtime::task;

// Roles that use others go before these.
NodeRoles::~NodeRoles() {
  while (!running_.empty()) running_.pop_back();
  while (!roles_.empty()) roles_.pop_back();
}

// --- their life ------------------------------------------------------------------------------------------------------

task<Status> NodeRoles::prepare(const NodeTools& tools) {
  for (const std::shared_ptr<NodeRole>& role : roles_) {
    BW_CO_RETURN_IF_ERROR(co_await role->prepare(tools));
  }
  const auto working = std::ranges::count_if(roles_, [](const auto& role) { return role->works_while_leading(); });
  check(working <= 1, "one role at most has work that only a leader may do");
  co_return Status();
}

void NodeRoles::start() {
  for (const std::shared_ptr<NodeRole>& role : roles_) {
    runtime::Scope& scope = running_.emplace_back();
    scope.spawn(role->run(scope.cancellation()));
  }
}

task<void> NodeRoles::wind_up(Instant deadline, runtime::Cancellation* cancel) {
  for (std::size_t i = roles_.size(); i > 0; --i) co_await roles_[i - 1]->wind_up(deadline, cancel);
}

task<void> NodeRoles::stop() {
  while (!running_.empty()) {
    running_.back().cancel();
    co_await running_.back().join();
    running_.pop_back();
  }
}

bool NodeRoles::drains() const {
  return std::ranges::any_of(roles_, [](const auto& role) { return role->drains(); });
}

task<bool> NodeRoles::drain(runtime::Cancellation* cancel) {
  for (const std::shared_ptr<NodeRole>& role : roles_) {
    if (!role->drains()) continue;
    const bool drained = co_await role->drain(cancel);
    if (!drained) co_return false;
  }
  co_return true;
}

// --- while it leads --------------------------------------------------------------------------------------------------

bool NodeRoles::work_while_leading() const {
  return std::ranges::any_of(roles_, [](const auto& role) { return role->works_while_leading(); });
}

task<void> NodeRoles::work_ended() {
  for (const std::shared_ptr<NodeRole>& role : roles_) co_await role->work_ended();
}

bool NodeRoles::tell_of_terms() const {
  return std::ranges::any_of(roles_, [](const auto& role) { return role->tells_of_terms(); });
}

bool NodeRoles::take_admin_key() const {
  return std::ranges::any_of(roles_, [](const auto& role) { return role->takes_admin_key(); });
}

void NodeRoles::on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key) {
  const auto taker = std::ranges::find_if(roles_, [](const auto& role) { return role->takes_admin_key(); });
  if (taker != roles_.end()) (*taker)->on_admin_key(term, std::move(key));
}

// --- what they say ---------------------------------------------------------------------------------------------------

std::optional<double> NodeRoles::context_fitness() const {
  for (const std::shared_ptr<NodeRole>& role : roles_) {
    if (const auto fitness = role->context_fitness()) return fitness;
  }
  return std::nullopt;
}

std::string NodeRoles::obstacle() const {
  for (const std::shared_ptr<NodeRole>& role : roles_) {
    if (std::string why = role->obstacle(); !why.empty()) return why;
  }
  return {};
}

std::string NodeRoles::progress() const {
  for (const std::shared_ptr<NodeRole>& role : roles_) {
    if (std::string word = role->progress(); !word.empty()) return word;
  }
  return {};
}

std::vector<Figure> NodeRoles::figures() const {
  std::vector<Figure> out;
  for (const std::shared_ptr<NodeRole>& role : roles_) std::ranges::copy(role->figures(), std::back_inserter(out));
  return out;
}

}  // namespace bellwether::node
