// The common parts of the tests of every store of jobs: two nodes that own jobs, and the replicas.
#pragma once

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "cluster/replication/etcd_job_store.h"
#include "cluster/replication/job_world_testing.h"
#include "cluster/replication/quorum_world_testing.h"

namespace bellwether::jobs {

inline constexpr Duration kLong = Duration::seconds(60);  // no node gets a job because this has passed
inline constexpr Duration kShort = Duration::seconds(8);  // longer than the pauses of nodes on a busy machine

// Two nodes with an etcd that somebody else runs.
class EtcdWorld final : public World {
 public:
  explicit EtcdWorld(Duration lease) {
    settings_.lease = lease;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i] = std::make_unique<Node>();
      open(i, *nodes_[i]);
    }
  }
  ~EtcdWorld() override {
    for (const auto& node : nodes_) close(*node);
  }
  Node& node(std::size_t which) override { return *nodes_[which]; }
  std::unique_ptr<Node> second_life(std::size_t which) override {
    auto node = std::make_unique<Node>();
    open(which, *node);
    return node;
  }
  void reach_first_life(std::size_t) override {}
  void end_second_life(std::unique_ptr<Node> node) override { close(*node); }
  bool obey(const std::string& what) override {
    const auto control = job_conformance_settings().control;
    return control != nullptr && control(what);
  }

 private:
  void open(std::size_t which, Node& node) {
    auto opened = node.run([&] {
      return open_etcd_job_store(node.runtime(), job_conformance_settings().url, "flock/test",
                                 "m" + std::to_string(which + 1), settings_, node.runtime().prng().next());
    });
    check(opened.has_value(), "the URL of the tests is good");
    stores_.push_back(std::move(*opened));
    node.store = stores_.back().get();
  }
  void close(Node& node) {
    node.run([&] { return closed(node.store); });
    node.act([&] { std::erase_if(stores_, [&](const auto& store) { return store.get() == node.store; }); });
  }
  JobSettings settings_;
  std::array<std::unique_ptr<Node>, 2> nodes_;
  std::vector<std::unique_ptr<JobStore>> stores_;
};

class JobConformance : public testing::Test {
 protected:
  void begin(Duration lease) {
    if (job_conformance_settings().url.empty()) {
      world_ = std::make_unique<QuorumWorld>(lease);
    } else {
      world_ = std::make_unique<EtcdWorld>(lease);
    }
    std::random_device random;
    run_ = std::to_string(random());
  }
  // A name that no other test and no earlier run has used.
  std::string key(const std::string& what) const { return what + "-" + run_; }
  Node& node(std::size_t which) { return world_->node(which); }

  std::unique_ptr<World> world_;
  std::string run_;
};

inline std::string value_of(const Result<std::optional<std::string>>& read) {
  return !read ? "(error: " + read.error().message + ")" : read->value_or("(nothing)");
}

#define OBEY(what) \
  if (!world_->obey(what)) GTEST_SKIP() << "nobody can do that here: " << (what)

}  // namespace bellwether::jobs
