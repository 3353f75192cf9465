// One node that leads contexts, in virtual time: its register and its disk are in memory, its jobs end when the test
// says so. Another node asks it, and hears it.
#pragma once

#include <gmock/gmock.h>

#include "cluster/net/message_classes.h"
#include "cluster/net/node_testing.h"
#include "cluster/replication/blob_replica.h"
#include "cluster/wire/crypto.h"
#include "lead/context_driver/context_driver.h"
#include "sim/machine_testing.h"

namespace bellwether::cluster {

// A register without another taker.
class MemoryStore final : public jobs::JobStore {
 public:
  class Handle final : public jobs::JobHandle {
   public:
    explicit Handle(MemoryStore& store) : store_(store) {}
    const std::string& key() const override { return store_.key; }
    runtime::task<Result<jobs::TakenJob>> take(Instant, runtime::Cancellation*) override {
      store_.held = true;
      ++store_.fence;
      co_return jobs::TakenJob{fence(), store_.value};
    }
    runtime::task<jobs::Written> write(std::string written, Instant, runtime::Cancellation*) override {
      store_.value = std::move(written);
      co_return jobs::Written();
    }
    runtime::task<Result<std::optional<std::string>>> read(Instant, runtime::Cancellation*) override {
      co_return store_.value;
    }
    runtime::task<Status> give_back(Instant, runtime::Cancellation*) override {
      store_.held = false;
      co_return Status();
    }
    runtime::task<jobs::Written> retire(Instant, runtime::Cancellation*) override { co_return jobs::Written(); }
    Instant held_until() const override { return store_.held ? Instant::never() : Instant(); }
    jobs::JobFence fence() const override { return jobs::JobFence(store_.fence); }

   private:
    MemoryStore& store_;
  };
  std::string describe() const override { return "memory"; }
  Result<std::unique_ptr<jobs::JobHandle>> open(std::string opened, jobs::JobHandle::Listener&) override {
    key = std::move(opened);
    return std::unique_ptr<jobs::JobHandle>(std::make_unique<Handle>(*this));
  }
  runtime::task<void> close(Duration) override { co_return; }

  std::string key;
  std::optional<std::string> value;
  uint64_t fence = 0;
  bool held = false;
};

class FakeLeadership final : public Leadership {
 public:
  runtime::task<void> run(runtime::Cancellation*) override { co_return; }
  bool leads(Instant) const override { return true; }
  Duration stop_grace() const override { return Duration::zero(); }
  void work_stopped() override { ++stopped; }
  void set_health(const quorum::LocalHealth&) override {}
  void suspect(const std::string&) override {}
  Status hand_over(const std::string&, const std::string& heir) override {
    heirs.push_back(heir);
    return {};
  }
  void leave(const std::string&) override {}
  Status change_voters(bool, const std::string&) override { return {}; }
  std::string obstacle() const override { return {}; }
  bool electable() const override { return true; }
  bool votes() const override { return true; }
  View view() const override { return {}; }

  int stopped = 0;
  std::vector<std::string> heirs;
};

// Its jobs end on order, or when stopped, or killed; the next ones at once when they need not wait.
class FakeManager final : public ContextManager {
 public:
  struct Seen {
    std::vector<context_lead::RequestId> begun;
    int stopped = 0;
    int killed = 0;
    bool waits = true;
  };
  FakeManager(runtime::Runtime& runtime, Seen& seen, context_lead::ManagerConfig config)
      : runtime_(runtime), seen_(seen), config_(std::move(config)) {}
  const context_lead::ManagerConfig& config() const override { return config_; }
  runtime::task<ContextJobEnd> run(ContextJob job, runtime::Cancellation* stop, runtime::Cancellation* kill) override {
    seen_.begun.push_back(job.request.id);
    while (seen_.waits && !stop->cancelled() && !kill->cancelled()) co_await runtime_.sleep(Duration::millis(1));
    seen_.stopped += stop->cancelled();
    seen_.killed += kill->cancelled();
    if (stop->cancelled() || kill->cancelled())
      co_return ContextJobEnd{context_lead::JobEnded::End::kCancelled, {}, {}};
    co_return ContextJobEnd{context_lead::JobEnded::End::kDone, {}, "made of " + job.request.payload};
  }
  void set_term_end(Instant) override {}

 private:
  runtime::Runtime& runtime_;
  Seen& seen_;
  context_lead::ManagerConfig config_;
};

// The other end: a node or an operator, who asks and hears.
class Other final : public TestNode, public Service {
 public:
  Other(runtime::Runtime& runtime, const std::string& name, wire::Role role) : TestNode(runtime, name, role) {
    router.connect(message_type::kContext, *this);
  }
  void on_message(link::Connection&, const wire::Inbound& message) override {
    std::string bytes(as_text(message.body));
    if (seal != nullptr) bytes = seal->open(bytes, "a", VoteSeal::About::kContext).value_or("not signed");
    auto read = message::decode<ContextMessage>(bytes);
    if (read) heard.push_back(std::move(*read));
  }

  std::vector<ContextMessage> heard;
  const VoteSeal* seal = nullptr;
};

class ContextDriverTest : public sim::MachineTest {
 protected:
  explicit ContextDriverTest(const VoteSeal* seal = nullptr) {
    scope_.spawn(replica_.run(scope_.cancellation()));
    ContextDriverSettings settings;
    settings.self = "a";
    settings.members = {"a", "b"};
    settings.duties.generation_start_delay = Duration::zero();
    auto driver =
        ContextDriver::make({runtime_, *node_.links, node_.router, callback_to<&ContextDriverTest::find>(*this), store_,
                             blobs_, leadership_, callback_to<&ContextDriverTest::node_healths>(*this),
                             callback_to<&ContextDriverTest::fitness>(*this),
                             callback_to<&ContextDriverTest::on_context_says>(*this), seal},
                            std::move(settings), 7);
    driver_ = std::move(*driver);
    scope_.spawn(driver_->run(scope_.cancellation()));
  }
  void TearDown() override { machine_.run(closing(this)); }
  static runtime::task<void> closing(ContextDriverTest* self) {
    self->scope_.cancel();
    co_await self->scope_.join();
    co_await self->blobs_.close();
    co_await self->node_.close();
    co_await self->other_.close();
    co_await self->operator_.close();
    co_await self->lines_.close();
  }

  Status register_manager(context_lead::ManagerConfig config = {"fake", 1}) {
    return driver_->register_manager(std::make_unique<FakeManager>(runtime_, jobs_, std::move(config)));
  }
  // As a leader that makes contexts.
  void lead() {
    ASSERT_TRUE(register_manager());
    end_->move_to(runtime_.boot_now() + Duration::minutes(10));
    driver_->on_elected({"flock", "a", context_lead::Epoch(5), runtime_.boot_now(), end_});
    until([this] { return driver_->view().duty == "generating"; });
  }
  ContextAnswer ask(Other& who, const ContextQuestion& question) {
    const PeerAddress here = node_.address();
    auto bytes =
        machine_.run(who.links->request(here, message_type::kContext, wire::Priority::kNormal,
                                        message::encode<ContextQuestion>(question), Duration::seconds(20), nullptr));
    EXPECT_TRUE(bytes) << bytes.error().message;
    return bytes ? *message::decode<ContextAnswer>(*bytes) : ContextRefused{};
  }
  context_lead::RequestId submit(uint64_t number) {
    const context_lead::RequestId id{1, number};
    const auto answer = ask(operator_, context_lead::Request{id, 0, runtime_.wall_now(), "clay"});
    EXPECT_TRUE(std::holds_alternative<ContextDone>(answer)) << answer.index();
    return id;
  }
  OutcomeAnswer outcome(context_lead::RequestId id) {
    const auto answer = ask(operator_, AskOutcome{id});
    const auto* told = std::get_if<OutcomeAnswer>(&answer);
    return told == nullptr ? OutcomeAnswer{} : *told;
  }
  void say(Other& who, const ContextMessage& message) {
    who.links->send(node_.address(), message_type::kContext, wire::Priority::kNormal,
                    who.seal == nullptr
                        ? message::encode<ContextMessage>(message)
                        : who.seal->seal(message::encode<ContextMessage>(message), VoteSeal::About::kContext),
                    Duration::seconds(20));
  }
  bool has_said(const std::string& event) const {
    return std::any_of(said.begin(), said.end(), [&](const auto& one) { return one.first == event; });
  }

  std::optional<PeerAddress> find(const std::string& name) const {
    return name == "b" ? std::optional(PeerAddress{name, other_.address().endpoint}) : std::nullopt;
  }
  void on_context_says(const std::string& event, const std::string& text, bool) { said.emplace_back(event, text); }
  std::map<std::string, double> node_healths() const { return {{"a", 1}, {"b", 1}}; }
  std::optional<ContextFitness> fitness(const ContextWork& work) const {
    return ContextFitness{work.done > 0 ? 0.5 : 0, {}, {}};
  }

  std::vector<std::pair<std::string, std::string>> said;
  TestNode node_{runtime_, "a"};
  Other other_{runtime_, "b", wire::Role::kManager};
  Other operator_{runtime_, "ann", wire::Role::kOperator};
  MemoryKv disk_;
  static constexpr auto deaf_ = [](bool, const std::string&) {};
  registers::Lines lines_{*node_.links, node_.router, callback_to<&ContextDriverTest::find>(*this), "a", {"a"}};
  blobs::BlobReplica replica_{runtime_, disk_, lines_, {.first_start = true, .limits = {}}, deaf_};
  blobs::Blobs blobs_{runtime_, lines_, {}, 3};
  MemoryStore store_;
  FakeLeadership leadership_;
  FakeManager::Seen jobs_;
  std::shared_ptr<election::TermEnd> end_ = std::make_shared<election::TermEnd>();
  std::unique_ptr<ContextDriver> driver_;
  runtime::Scope scope_;
};

}  // namespace bellwether::cluster
