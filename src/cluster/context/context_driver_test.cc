// One node that leads contexts, over real sockets: its register and its disk are in memory, its jobs end when the test
// says so. Another node asks it, and hears it.
#include "cluster/context/context_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/copies/copy_keeper.h"
#include "cluster/message_types.h"
#include "cluster/vote/vote_testing_keys.h"
#include "runtime/stream_testing.h"
#include "wire/crypto.h"
#include "wire/link/link_testing.h"

namespace bellwether::cluster {
namespace {

using namespace context_lead;
using runtime::task;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MemoryKv final : public Kv {
 public:
  task<Result<std::optional<std::string>>> get(std::string key) override {
    const auto found = kept_.find(key);
    co_return found == kept_.end() ? std::nullopt : std::optional<std::string>(found->second);
  }
  task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& one : kept_) {
      if (one.first.starts_with(prefix)) out.emplace_back(one);
    }
    co_return out;
  }
  task<Status> put(std::vector<KvChange> changes) override {
    for (const KvChange& one : changes) {
      if (one.value) {
        kept_[one.key] = *one.value;
      } else {
        kept_.erase(one.key);
      }
    }
    co_return Status();
  }

 private:
  std::map<std::string, std::string> kept_;
};

// A register that nobody else takes.
class MemoryStore final : public jobs::JobStore {
 public:
  class Handle final : public jobs::JobHandle {
   public:
    explicit Handle(MemoryStore& store) : store_(store) {}
    const std::string& key() const override { return store_.key; }
    task<Result<jobs::TakenJob>> take(Instant, runtime::Cancellation*) override {
      store_.held = true;
      ++store_.fence;
      co_return jobs::TakenJob{fence(), store_.value};
    }
    task<jobs::Written> write(std::string written, Instant, runtime::Cancellation*) override {
      store_.value = std::move(written);
      co_return jobs::Written();
    }
    task<Result<std::optional<std::string>>> read(Instant, runtime::Cancellation*) override { co_return store_.value; }
    task<Status> give_back(Instant, runtime::Cancellation*) override {
      store_.held = false;
      co_return Status();
    }
    task<jobs::Written> retire(Instant, runtime::Cancellation*) override { co_return jobs::Written(); }
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
  task<void> close(Duration) override { co_return; }

  std::string key;
  std::optional<std::string> value;
  uint64_t fence = 0;
  bool held = false;
};

class FakeLeadership final : public Leadership {
 public:
  task<void> run(runtime::Cancellation*) override { co_return; }
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

// Its jobs end when they are told to, or stopped, or killed; the next ones at once when they need not wait.
class FakeManager final : public ContextManager {
 public:
  struct Seen {
    std::vector<RequestId> begun;
    int stopped = 0;
    int killed = 0;
    bool waits = true;
  };
  FakeManager(runtime::Runtime& runtime, Seen& seen) : runtime_(runtime), seen_(seen) {}
  const ManagerConfig& config() const override { return config_; }
  task<ContextJobEnd> run(ContextJob job, runtime::Cancellation* stop, runtime::Cancellation* kill) override {
    seen_.begun.push_back(job.request.id);
    while (seen_.waits && !stop->cancelled() && !kill->cancelled()) co_await runtime_.sleep(Duration::millis(1));
    seen_.stopped += stop->cancelled();
    seen_.killed += kill->cancelled();
    if (stop->cancelled() || kill->cancelled()) co_return ContextJobEnd{JobEnded::End::kCancelled, {}, {}};
    co_return ContextJobEnd{JobEnded::End::kDone, {}, "made of " + job.request.payload};
  }
  void set_term_end(Instant) override {}

 private:
  runtime::Runtime& runtime_;
  Seen& seen_;
  ManagerConfig config_{"fake", 1};
};

// The other end: a node or an operator, who asks and hears.
class Other final : public Service, public PeerLinks::Listener {
 public:
  Other(runtime::Runtime& runtime, const std::string& name, wire::Role role) : runtime_(runtime) {
    dialling_.handshake = link::test_node(name, role);
    switchboard_.connect(message_type::kContext, *this);
  }
  runtime::Endpoint listen(runtime::Scope& scope) {
    link::ServerSettings serving;
    serving.handshake = dialling_.handshake;
    auto made =
        link::Server::listen(runtime_, {runtime::IpAddress::loopback(), 0}, serving, keys_, switchboard_, refusals_);
    server_ = std::move(*made);
    scope.spawn(server_->serve(scope.cancellation()));
    return server_->local();
  }
  void on_message(link::Connection&, const wire::Inbound& message) override {
    std::string bytes(as_text(message.body));
    if (seal != nullptr) bytes = seal->open(bytes, "a", VoteSeal::About::kContext).value_or("not signed");
    auto read = decode_context_message(bytes);
    if (read) heard.push_back(std::move(*read));
  }
  void on_refused(const PeerAddress&) override {}
  void on_trouble(const PeerAddress&, const Error&) override {}
  PeerLinks& links() { return links_; }

  std::vector<ContextMessage> heard;
  const VoteSeal* seal = nullptr;

 private:
  runtime::Runtime& runtime_;
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_{nullptr};
  link::DialSettings dialling_;
  Switchboard switchboard_;
  PeerLinks links_{runtime_, dialling_, keys_, switchboard_, refusals_, *this};
  std::unique_ptr<link::Server> server_;
};

class ContextDriverTest : public testing::Test,
                          public PeerLinks::Listener,
                          public Addresses,
                          public copies::CopyKeeper::Listener,
                          public ContextDriver::Listener,
                          public ContextDriver::Surroundings {
 protected:
  explicit ContextDriverTest(const VoteSeal* seal = nullptr) {
    dialling_.handshake = link::test_node("a", wire::Role::kManager);
    link::ServerSettings serving;
    serving.handshake = dialling_.handshake;
    auto made =
        link::Server::listen(*runtime_, {runtime::IpAddress::loopback(), 0}, serving, keys_, switchboard_, refusals_);
    server_ = std::move(*made);
    scope_.spawn(server_->serve(scope_.cancellation()));
    other_at_ = other_.listen(scope_);
    scope_.spawn(keeper_.run(scope_.cancellation()));
    ContextDriverSettings settings;
    settings.self = "a";
    settings.members = {"a", "b"};
    settings.duties.generation_start_delay = Duration::zero();
    auto driver =
        ContextDriver::make({*runtime_, links_, switchboard_, *this, store_, copies_, leadership_, *this, *this, seal},
                            std::move(settings), 7);
    driver_ = std::move(*driver);
    scope_.spawn(driver_->run(scope_.cancellation()));
  }
  void TearDown() override { runtime_->run(closing(this)); }
  static task<void> closing(ContextDriverTest* self) {
    self->scope_.cancel();
    co_await self->scope_.join();
    co_await self->copies_.close();
    co_await self->links_.close(Duration::millis(10));
    co_await self->other_.links().close(Duration::millis(10));
    co_await self->operator_.links().close(Duration::millis(10));
    co_await self->lines_.close();
  }

  template <class Holds>
  void until(Holds holds) {
    for (int i = 0; i < 30'000 && !holds(); ++i) runtime_->run(waiting(*runtime_));
    ASSERT_TRUE(holds());
  }
  static task<void> waiting(runtime::Runtime& runtime) { co_await runtime.sleep(Duration::millis(1)); }

  Status register_manager() { return driver_->register_manager(std::make_unique<FakeManager>(*runtime_, jobs_)); }
  // As a leader that makes contexts.
  void lead() {
    ASSERT_TRUE(register_manager());
    end_->move_to(runtime_->boot_now() + Duration::minutes(10));
    driver_->on_elected({"flock", "a", Epoch(5), runtime_->boot_now(), end_});
    until([this] { return driver_->view().duty == "generating"; });
  }
  ContextAnswer ask(Other& who, const ContextQuestion& question) {
    const PeerAddress here{"a", server_->local()};
    auto bytes = runtime_->run(who.links().request(here, message_type::kContext, wire::Priority::kNormal,
                                                   encode_context_question(question), Duration::seconds(20), nullptr));
    EXPECT_TRUE(bytes) << bytes.error().message;
    return bytes ? *decode_context_answer(*bytes) : ContextRefused{};
  }
  RequestId submit(uint64_t number) {
    const RequestId id{1, number};
    const auto answer = ask(operator_, Request{id, 0, runtime_->wall_now(), "clay"});
    EXPECT_TRUE(std::holds_alternative<ContextDone>(answer)) << answer.index();
    return id;
  }
  OutcomeAnswer outcome(RequestId id) {
    const auto answer = ask(operator_, AskOutcome{id});
    const auto* told = std::get_if<OutcomeAnswer>(&answer);
    return told == nullptr ? OutcomeAnswer{} : *told;
  }
  void say(Other& who, const ContextMessage& message) {
    who.links().send({"a", server_->local()}, message_type::kContext, wire::Priority::kNormal,
                     who.seal == nullptr ? encode_context_message(message)
                                         : who.seal->seal(encode_context_message(message), VoteSeal::About::kContext),
                     Duration::seconds(20));
  }
  bool has_said(const std::string& event) const {
    return std::any_of(said.begin(), said.end(), [&](const auto& one) { return one.first == event; });
  }

  void on_refused(const PeerAddress&) override {}
  void on_trouble(const PeerAddress&, const Error&) override {}
  void on_note(bool, const std::string&) override {}
  std::optional<PeerAddress> find(const std::string& name) const override {
    return name == "b" ? std::optional(PeerAddress{name, other_at_}) : std::nullopt;
  }
  void on_context_says(const std::string& event, const std::string& text, bool) override {
    said.emplace_back(event, text);
  }
  std::map<std::string, double> node_healths() const override { return {{"a", 1}, {"b", 1}}; }
  std::optional<ContextFitness> fitness(const ContextWork& work) const override {
    return ContextFitness{work.done > 0 ? 0.5 : 0, {}, {}};
  }

  std::vector<std::pair<std::string, std::string>> said;
  std::unique_ptr<runtime::EpollRuntime> runtime_ = runtime::test_runtime();
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_{nullptr};
  link::DialSettings dialling_;
  Switchboard switchboard_;
  PeerLinks links_{*runtime_, dialling_, keys_, switchboard_, refusals_, *this};
  std::unique_ptr<link::Server> server_;
  Other other_{*runtime_, "b", wire::Role::kManager};
  Other operator_{*runtime_, "ann", wire::Role::kOperator};
  runtime::Endpoint other_at_;
  MemoryKv disk_;
  copies::CopyLines lines_{*runtime_, links_, switchboard_, *this, "a", {"a"}};
  copies::CopyKeeper keeper_{*runtime_, disk_, lines_, {.first_start = true, .limits = {}}, *this};
  copies::Copies copies_{*runtime_, lines_, {}, 3};
  MemoryStore store_;
  FakeLeadership leadership_;
  FakeManager::Seen jobs_;
  std::shared_ptr<election::TermEnd> end_ = std::make_shared<election::TermEnd>();
  std::unique_ptr<ContextDriver> driver_;
  runtime::Scope scope_;
};

TEST_F(ContextDriverTest, a_second_context_manager_is_an_error) {
  ASSERT_TRUE(register_manager());
  const Status second = register_manager();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_EQ(driver_->view().manager, "fake");
}

TEST_F(ContextDriverTest, a_request_is_done_and_its_result_is_there_for_whoever_asks) {
  lead();
  EXPECT_EQ(outcome({1, 99}).standing, OutcomeAnswer::Standing::kUnknown);
  const RequestId id = submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  EXPECT_EQ(outcome(id).standing, OutcomeAnswer::Standing::kActive);
  EXPECT_EQ(driver_->view().jobs.size(), 1u);
  jobs_.waits = false;
  until([&] { return outcome(id).standing == OutcomeAnswer::Standing::kCompleted; });
  EXPECT_EQ(outcome(id).result, "made of clay");
  EXPECT_EQ(outcome(id).epoch, 5u);
  EXPECT_EQ(driver_->view().completed, 1u);
  EXPECT_EQ(driver_->view().fitness->score, 0.5);
  EXPECT_EQ(submit(1), id) << "the same again is the one that is done";
  EXPECT_THAT(jobs_.begun, ElementsAre(id));
}

TEST_F(ContextDriverTest, who_does_not_lead_says_whom_to_ask) {
  driver_->on_leader_changed("b", election::Term(4));
  const auto answer = ask(operator_, Request{{1, 1}, 0, runtime_->wall_now(), "clay"});
  ASSERT_TRUE(std::holds_alternative<ContextRefused>(answer));
  EXPECT_EQ(std::get<ContextRefused>(answer).code, Errc::kRefused);
  EXPECT_EQ(std::get<ContextRefused>(answer).leader, "b");
  EXPECT_TRUE(std::holds_alternative<ContextRefused>(ask(operator_, AskOutcome{{1, 1}})));
  EXPECT_EQ(driver_->view().leader, "b");
}

TEST_F(ContextDriverTest, a_drain_stops_the_jobs_and_is_answered_once_when_none_is_left) {
  lead();
  submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  EXPECT_EQ(leadership_.stopped, 0);
  driver_->on_drain("a test");
  until([&] { return leadership_.stopped == 1; });
  EXPECT_EQ(jobs_.stopped, 1);
  EXPECT_THAT(driver_->view().jobs, IsEmpty());
  EXPECT_EQ(driver_->view().queued, 1u) << "it goes back into the queue";
}

TEST_F(ContextDriverTest, with_the_term_jobs_are_killed_and_the_register_is_given_back) {
  lead();
  submit(1);
  until([&] { return jobs_.begun.size() == 1; });
  EXPECT_TRUE(store_.held);
  driver_->on_term_ended({Epoch(5), election::EndReason::kExpired, "a test", runtime_->boot_now(), true});
  until([&] { return leadership_.stopped == 1 && !store_.held; });
  EXPECT_EQ(jobs_.killed, 1);
  EXPECT_FALSE(driver_->leads());
  EXPECT_TRUE(has_said("context_lost"));
}

TEST_F(ContextDriverTest, an_end_that_nobody_waits_for_is_not_told_to_the_election) {
  lead();
  driver_->on_term_ended({Epoch(5), election::EndReason::kResigned, "a test", runtime_->boot_now(), false});
  until([&] { return !store_.held; });
  EXPECT_EQ(leadership_.stopped, 0) << "it would take that for a resignation";
}

TEST_F(ContextDriverTest, only_operators_move_the_leadership) {
  lead();
  for (const ContextQuestion& question :
       {ContextQuestion(AskTransfer{"b", "m2", ""}), ContextQuestion(AskGeneration{})}) {
    const auto answer = ask(other_, question);
    ASSERT_TRUE(std::holds_alternative<ContextRefused>(answer));
    EXPECT_THAT(std::get<ContextRefused>(answer).why, HasSubstr("only an operator"));
  }
  EXPECT_EQ(driver_->view().duty, "generating");
}

TEST_F(ContextDriverTest, a_transfer_offers_the_state_and_gives_the_office_when_it_is_accepted) {
  lead();
  EXPECT_TRUE(std::holds_alternative<ContextDone>(ask(operator_, AskTransfer{"b", "ann", ""})));
  until([&] {
    return std::any_of(other_.heard.begin(), other_.heard.end(),
                       [](const auto& one) { return std::holds_alternative<StateOffer>(one); });
  });
  const auto again = ask(operator_, AskTransfer{"b", "ann", ""});
  ASSERT_TRUE(std::holds_alternative<ContextRefused>(again));
  EXPECT_EQ(std::get<ContextRefused>(again).code, Errc::kExists);
  EXPECT_THAT(leadership_.heirs, IsEmpty());
  for (const ContextMessage& one : other_.heard) {
    const auto* offer = std::get_if<StateOffer>(&one);
    if (offer == nullptr) continue;
    say(other_, StateReceived{offer->id});
    say(other_, StateVerdict{offer->id, true, "", {}});
  }
  until([&] { return !leadership_.heirs.empty(); });
  EXPECT_THAT(leadership_.heirs, ElementsAre("b"));
}

TEST_F(ContextDriverTest, a_state_that_is_malformed_is_refused_or_taken_but_for_the_fields_that_are_named) {
  ASSERT_TRUE(register_manager());
  driver_->on_leader_changed("b", election::Term(4));
  const auto verdict_on = [&](uint64_t number, std::string state) {
    say(other_, StateOffer{{Epoch(4), number}, std::move(state)});
    const StateVerdict* found = nullptr;
    until([&] {
      for (const ContextMessage& one : other_.heard) {
        const auto* verdict = std::get_if<StateVerdict>(&one);
        if (verdict != nullptr && verdict->id.number == number) found = verdict;
      }
      return found != nullptr;
    });
    return *found;
  };
  const StateVerdict garbage = verdict_on(1, "no state at all");
  EXPECT_FALSE(garbage.accepted);
  EXPECT_FALSE(garbage.why.empty());

  FailoverState state;
  state.leader = NodeId(member_id("b").value());
  state.term = Epoch(4);
  state.transfer_time = runtime_->wall_now();
  state.cluster_state.members = {NodeId(member_id("a").value()), NodeId(member_id("b").value())};
  state.state_version = 1;
  state.transfer_reason = "maintenance of the rack";
  state.transfer_source = "operator ann";
  auto bytes = encode(state, &wire::sha256);
  ASSERT_TRUE(bytes);
  bytes->at(bytes->find("maintenance")) = 'M';
  const StateVerdict damaged = verdict_on(2, *bytes);
  EXPECT_TRUE(std::any_of(damaged.dropped.begin(), damaged.dropped.end(), [](const StateIssue& one) {
    return one.field == StateField::kTransferReason;
  })) << damaged.why;
}

TEST_F(ContextDriverTest, messages_of_strangers_count_for_nothing) {
  driver_->on_leader_changed("b", election::Term(4));
  say(operator_, StateOffer{{Epoch(4), 1}, "a state"});
  until([&] { return driver_->refused() == 1; });
  EXPECT_TRUE(has_said("context_message_refused"));
  EXPECT_THAT(other_.heard, IsEmpty());
}

// Each node signs with a key of its own, by the number of its place in the alphabet.
struct Seals {
  static VoteSeal of(unsigned char number) {
    return {"flock",
            test_signing_key(number),
            {{"a", test_signing_key(1).public_key()}, {"b", test_signing_key(2).public_key()}}};
  }
  VoteSeal a = of(1);
  VoteSeal b = of(2);
  VoteSeal c = of(3);
};

class SignedContextTest : protected Seals, public ContextDriverTest {
 protected:
  SignedContextTest() : ContextDriverTest(&a) { other_.seal = &b; }
};

TEST_F(SignedContextTest, what_a_node_says_is_signed_and_what_is_not_counts_for_nothing) {
  lead();
  until([&] { return !other_.heard.empty(); });
  EXPECT_TRUE(std::holds_alternative<GenerationBegun>(other_.heard.front()));
  say(other_, GenerationBegun{9});
  until([&] { return has_said("context_generation_heard"); });
  EXPECT_EQ(driver_->refused(), 0u);
  other_.seal = &c;
  say(other_, GenerationBegun{10});
  until([&] { return driver_->refused() == 1; });
  other_.seal = nullptr;
  say(other_, GenerationBegun{11});
  until([&] { return driver_->refused() == 2; });
  EXPECT_TRUE(has_said("context_message_refused"));
}

}  // namespace
}  // namespace bellwether::cluster
