// A kernel that answers as set, and checks that nothing forbidden reaches it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/node/admin_messages.h"
#include "cluster/node/node_admin.h"
#include "cluster/wire/identity.h"
#include "cluster/wire/keyring.h"
#include "core/base/check.h"

namespace bellwether::node {

class FakeControl final : public NodeControl {
 public:
  std::vector<MemberView> members() const override { return {{.name = "a", .state = "alive", .leads = true}}; }
  LeaderView leader() const override {
    return {.name = "a", .term = 7, .since = {}, .valid_for = Duration::seconds(1), .evidence = "votes"};
  }
  QuorumView quorum() const override {
    QuorumView view;
    view.voters.push_back({.name = "a", .alive = true});
    return view;
  }
  std::string degradation() const override { return "normal"; }
  int health_score() const override { return 0; }
  std::string not_ready() const override { return {}; }
  bool joined() const override { return true; }
  Result<std::string> leave(const std::string& who) override { return act("leave for " + who); }
  Result<std::string> drain(const std::string& who) override { return act("drain for " + who); }
  Result<std::string> transfer(const std::string& to) override {
    check(to.empty() || wire::is_name(to), "an heir has a name");
    return act("transfer to " + to);
  }
  Result<cluster::VoteView> last_vote() const override {
    cluster::VoteView view{
        .term = 4, .over = true, .trigger = "manual_trigger", .winner = "a", .why = "it has the votes"};
    view.rule = "majority";
    view.needed = 1;
    view.nodes.push_back({.name = "a", .took_part = true, .stood = true, .voted_for = "a", .votes = 1});
    return view;
  }
  Result<std::string> call_election(bool forced) override {
    return std::string(forced ? "an election by force" : "an election");
  }
  Result<std::string> change_voters(bool add, const std::string& name) override {
    check(wire::is_name(name), "a voter has a name");
    return act((add ? "add " : "remove ") + name);
  }
  ManagersView managers() const override { return {.managers = {{.name = "a", .keeps = true}}, .answered_by = "a"}; }
  Result<std::string> change_managers(bool add, const std::string& name) override {
    check(wire::is_name(name), "a manager has a name");
    return act((add ? "add manager " : "remove manager ") + name);
  }
  Result<std::string> learn_secret(std::string secret) override {
    check(secret.size() >= wire::kMinSecret && secret.size() <= wire::kMaxSecret, "a secret has its length");
    learned = std::move(secret);
    return act("learn");
  }
  Result<std::string> use_secret(uint32_t id) override { return act("use " + std::to_string(id)); }
  Result<std::string> forget_secret(uint32_t id) override { return act("forget " + std::to_string(id)); }
  std::vector<uint32_t> secrets() const override { return {1, 2}; }

  void on_act(const std::string& by, const std::string& what, const std::string& outcome) {
    check(!what.empty() && !outcome.empty(), "an audit log says what was done, and what came of it");
    const bool told = what == "learn a secret" && (outcome == "learn" || outcome == "refused: " + refuses);
    check(learned.empty() || told, "and no secret");
    audited.push_back(by + ": " + what + ": " + outcome);
  }

  AdminService::Audit audit() { return callback_to<&FakeControl::on_act>(*this); }

  std::string refuses;  // every act, for this reason
  std::vector<std::string> acts;
  std::vector<std::string> audited;
  std::string learned;

 private:
  Result<std::string> act(std::string what) {
    if (!refuses.empty()) return fail(Errc::kRefused, refuses);
    acts.push_back(what);
    return what;
  }
};

}  // namespace bellwether::node
