
#include <gtest/gtest.h>

#include "cluster/node/node_page.h"
#include "sim/world.h"

namespace bellwether::node {
namespace {

// A node that says of itself what the test wants it to say.
class Kernel final : public NodeControl {
 public:
  std::vector<MemberView> members() const override { return {}; }
  LeaderView leader() const override { return {}; }
  QuorumView quorum() const override { return {}; }
  std::string degradation() const override { return "normal"; }
  int health_score() const override { return 0; }
  std::string not_ready() const override { return trouble; }
  bool joined() const override { return has_joined; }
  std::string progress() const override { return moves; }
  Result<std::string> leave(const std::string&) override { return std::string(); }
  Result<std::string> drain(const std::string&) override { return std::string(); }
  Result<std::string> transfer(const std::string&) override { return std::string(); }
  Result<cluster::VoteView> last_vote() const override { return cluster::VoteView{}; }
  Result<std::string> call_election(bool) override { return std::string(); }
  Result<std::string> change_voters(bool, const std::string&) override { return std::string(); }
  ManagersView managers() const override { return {}; }
  Result<std::string> change_managers(bool, const std::string&) override { return std::string(); }
  Result<std::string> learn_secret(std::string) override { return std::string(); }
  Result<std::string> use_secret(uint32_t) override { return std::string(); }
  Result<std::string> forget_secret(uint32_t) override { return std::string(); }
  std::vector<uint32_t> secrets() const override { return {}; }

  std::string trouble;
  std::string moves;
  bool has_joined = true;
};

struct Watched {
  Kernel kernel;
  const NodeProbes* probes = nullptr;
};

runtime::task<void> look_at_itself(runtime::Runtime& runtime, void* context) {
  auto& watched = *static_cast<Watched*>(context);
  NodeProbes probes(runtime, watched.kernel);
  watched.probes = &probes;
  runtime::Cancellation never;
  co_await probes.run(&never);
}

class NodeProbesTest : public testing::Test {
 protected:
  void start() {
    node_.start(&look_at_itself, &watched_);
    world_.run_for(Duration::millis(1));
  }
  const health::Probes& verdicts() const { return watched_.probes->verdicts(); }
  Watched watched_;
  sim::World world_{3};
  sim::Node& node_ = world_.add_node("node");
};

TEST_F(NodeProbesTest, a_node_has_started_when_it_has_joined) {
  watched_.kernel.has_joined = false;
  start();
  world_.run_for(Duration::seconds(60));
  EXPECT_FALSE(verdicts().started());
  EXPECT_TRUE(verdicts().live());
  watched_.kernel.has_joined = true;
  world_.run_for(Duration::seconds(6));
  EXPECT_TRUE(verdicts().started());
  EXPECT_TRUE(verdicts().ready());
}

TEST_F(NodeProbesTest, a_node_that_never_joins_is_not_alive_in_the_end) {
  watched_.kernel.has_joined = false;
  start();
  world_.run_for(Duration::seconds(170));
  EXPECT_FALSE(verdicts().live());
}

TEST_F(NodeProbesTest, three_looks_make_it_unready_and_one_makes_it_ready) {
  start();
  world_.run_for(Duration::seconds(12));
  watched_.kernel.trouble = "no leader is known";
  world_.run_for(Duration::seconds(21));
  EXPECT_TRUE(verdicts().ready());
  world_.run_for(Duration::seconds(13));
  EXPECT_FALSE(verdicts().ready());
  EXPECT_TRUE(verdicts().live());
  watched_.kernel.trouble.clear();
  world_.run_for(Duration::seconds(12));
  EXPECT_TRUE(verdicts().ready());
}

runtime::task<void> ask_health(NodePage* page, std::string* body) {
  web::Request request;
  request.method = "GET";
  request.path = "/health";
  const web::Answer answer = co_await page->answer(std::move(request), nullptr);
  *body = answer.body;
}

TEST_F(NodeProbesTest, the_page_says_whether_a_manager_does_what_it_could) {
  start();
  const auto figures = [] { return std::vector<Figure>(); };
  NodePage page(watched_.kernel, *watched_.probes, figures);
  std::string body;
  const auto nothing = ask_health(&page, &body);
  EXPECT_EQ(body.find("progress"), std::string::npos);
  watched_.kernel.moves = "stuck";
  const auto asked = ask_health(&page, &body);
  EXPECT_NE(body.find("\"progress\": \"stuck\""), std::string::npos) << body;
}

TEST_F(NodeProbesTest, a_loop_that_stalls_whenever_it_is_looked_at_is_not_alive) {
  start();
  world_.run_for(Duration::seconds(12));
  // Looks that fall into a pause come as late as it lasts.
  for (int i = 0; i < 12 && verdicts().live(); ++i) {
    node_.pause();
    world_.run_for(Duration::seconds(9));
    node_.resume();
    world_.run_for(Duration::millis(1));
  }
  EXPECT_FALSE(verdicts().live());
  EXPECT_FALSE(verdicts().ready());
  world_.run_for(Duration::seconds(24));
  EXPECT_TRUE(verdicts().live());
}

}  // namespace
}  // namespace bellwether::node
