// Three replicas in virtual time; the test decides which admin each follows.
#include "cluster/vote/key_recovery.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "cluster/net/message_classes.h"
#include "cluster/net/node_testing.h"
#include "cluster/vote/vote_keys_testing.h"
#include "core/secret/secret_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::cluster {
namespace {

using election::Term;
using testing::HasSubstr;

const std::vector<std::string> kNames = {"a", "b", "c"};

class Node final : public TestNode {
 public:
  using Places = std::map<std::string, runtime::Endpoint>;

  Node(runtime::Runtime& runtime, Places& places, const std::string& name, unsigned char key)
      : TestNode(runtime, name), places_(places), seal_(test_seal(key)) {
    places_[name] = address().endpoint;
  }
  void keep(const secret::Splitting& of, std::size_t index) {
    replica_.emplace(runtime, *links, router, callback_to<&Node::find>(*this), seal_,
                     KeyRecoverySettings{"flock", name, kNames, Duration::millis(10), Duration::millis(300)},
                     KeyHolding{of.commitment, secret::copy_of(of.shares[index - 1])},
                     KeyRecovery::Owner{.follows = callback_to<&Node::follows>(*this),
                                        .on_key = callback_to<&Node::on_key>(*this),
                                        .on_warning = callback_to<&Node::on_warning>(*this)});
  }
  void collect(uint64_t term) { replica_->collect(Term(term), scope); }
  KeyRecovery& replica() { return *replica_; }
  VoteView::Keys progress() { return replica_->view().value_or(VoteView::Keys{}); }
  // Why the key share of this node is refused; empty: it is not.
  std::string why_refused(const std::string& from) {
    const VoteView::Keys keys = progress();
    const auto found = std::ranges::find(keys.refused, from, &VoteView::Keys::Refused::from);
    return found == keys.refused.end() ? std::string() : found->why;
  }
  // As somebody who has this node's name and signature.
  void say(const std::string& to, const KeyShareMessage& message) {
    links->send(*find(to), message_type::kKeyShare, wire::Priority::kLeadership,
                seal_.seal(message::encode(message), VoteSeal::About::kKeyShare), Duration::seconds(5));
  }

  std::pair<std::string, uint64_t> followed;
  std::string key;      // that was put together
  std::string failure;  // why not
  std::vector<std::string> notes;

 private:
  bool follows(const std::string& admin, Term term) const { return followed == std::pair(admin, term.value()); }
  void on_key(Term, Result<secret::SecretBytes> got) {
    if (got)
      key = std::string(as_text(got->bytes()));
    else
      failure = got.error().message;
  }
  void on_warning(const std::string& text) { notes.push_back(text); }
  std::optional<PeerAddress> find(const std::string& node) const {
    const auto found = places_.find(node);
    return found == places_.end() ? std::nullopt : std::optional(PeerAddress{node, found->second});
  }

  Places& places_;
  VoteSeal seal_;
  std::optional<KeyRecovery> replica_;
};

class KeyRecoveryTest : public sim::MachineTest {
 protected:
  KeyRecoveryTest() {
    for (unsigned char i = 0; i < 3; ++i) {
      nodes_[kNames[i]] = std::make_unique<Node>(runtime_, places_, kNames[i], i + 1);
      nodes_[kNames[i]]->keep(splitting_, i + 1);
    }
  }
  Node& node(const std::string& name) { return *nodes_.at(name); }
  void TearDown() override {
    for (auto& [name, one] : nodes_) machine_.run(one->close());
    nodes_.clear();
  }

  secret::Splitting splitting_ = secret::split_text("the key of the admin", {2, 3});
  Node::Places places_;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
};

TEST_F(KeyRecoveryTest, the_key_comes_from_who_follows_and_all_are_told) {
  node("b").followed = node("c").followed = {"a", 5};
  node("a").collect(5);
  until([&] { return !node("a").key.empty(); });
  EXPECT_EQ(node("a").key, "the key of the admin");
  EXPECT_EQ(node("a").progress().stage, "ready");
  EXPECT_EQ(node("a").progress().held, 2u);
  until([&] { return node("c").progress().stage == "ready"; });
  EXPECT_EQ(node("c").replica().view()->admin, "a");
  EXPECT_EQ(node("c").replica().view()->term, 5u);
}

TEST_F(KeyRecoveryTest, who_does_not_follow_sends_nothing_and_the_reason_is_said) {
  node("b").followed = {"a", 4};
  node("c").followed = {"b", 5};
  node("a").collect(5);
  until([&] { return !node("a").failure.empty(); });
  EXPECT_EQ(node("a").failure, "1 of 2 key shares after 300ms; none came from 'b', 'c'");
  EXPECT_EQ(node("a").progress().stage, "failed");
  EXPECT_FALSE(node("b").replica().view()) << "nobody else can make it say that it collects";
}

TEST_F(KeyRecoveryTest, a_key_share_of_another_splitting_is_refused_by_name_and_the_others_are_enough) {
  splitting_ = secret::split_text("the key of the admin", {3, 3}, 2);
  const secret::Splitting other = secret::split_text("another key", {3, 3}, 3);
  node("a").keep(splitting_, 1), node("b").keep(other, 2), node("c").keep(splitting_, 3);
  node("b").followed = node("c").followed = {"a", 5};
  node("a").collect(5);
  until([&] { return node("a").progress().held == 2 && !node("a").progress().refused.empty(); });
  EXPECT_THAT(node("a").why_refused("b"), HasSubstr("split"));
  EXPECT_THAT(node("a").notes, testing::Contains(HasSubstr("the key share of 'b' is refused: ")));
  // All others learn the reason.
  until([&] { return !node("c").why_refused("b").empty(); });
  until([&] { return !node("a").failure.empty(); });
  EXPECT_THAT(node("a").failure, HasSubstr("2 of 3 key shares after 300ms; the one of 'b' was refused: "));
  // Mended, it counts.
  node("b").keep(splitting_, 2);
  node("b").followed = node("c").followed = {"a", 6};
  node("a").collect(6);
  until([&] { return !node("a").key.empty(); });
  EXPECT_EQ(node("a").key, "the key of the admin");
}

TEST_F(KeyRecoveryTest, the_same_key_share_at_two_nodes_counts_once) {
  splitting_ = secret::split_text("the key of the admin", {3, 3}, 2);
  node("a").keep(splitting_, 1), node("b").keep(splitting_, 2), node("c").keep(splitting_, 2);
  node("b").followed = node("c").followed = {"a", 5};
  node("a").collect(5);
  until([&] { return !node("a").failure.empty(); });
  EXPECT_THAT(node("a").failure, HasSubstr("key share 2 belongs to '"));
}

TEST_F(KeyRecoveryTest, what_was_sealed_for_another_term_is_refused) {
  node("a").collect(5);
  const auto key = BoxKey::draw();
  node("b").say("a", KeyShareAnswer{Term(5), key->public_key(), std::string(100, 'x')});
  until([&] { return !node("a").why_refused("b").empty(); });
  EXPECT_THAT(node("a").why_refused("b"), HasSubstr("encrypted to another key"));
  EXPECT_EQ(node("a").replica().refused(), 1u);
  node("a").replica().stop();
  EXPECT_EQ(node("a").progress().stage, "failed");
  EXPECT_TRUE(node("a").key.empty());
}

}  // namespace
}  // namespace bellwether::cluster
