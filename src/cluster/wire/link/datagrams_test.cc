#include "cluster/wire/link/datagrams.h"

#include <gmock/gmock.h>

#include "cluster/wire/link/link_testing.h"
#include "sim/sim_testing.h"

namespace bellwether::link {
namespace {

using runtime::Endpoint;
using runtime::IpAddress;
using runtime::Runtime;
using runtime::task;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::Refusal;
using wire::Role;

constexpr uint16_t kPort = 7001;

// A node that writes down what it hears.
struct Hearer {
  DatagramSettings settings{.self = test_node("hearer", Role::kManager).self.identity};
  wire::Keyring keys = test_keyring();
  RefusalWatch refusals;
  std::vector<std::string> heard;
  std::vector<uint64_t> senders;
  Datagrams* datagrams = nullptr;

  void on_datagram(const Endpoint&, uint64_t sender, Bytes text) {
    heard.emplace_back(as_text(text));
    senders.push_back(sender);
  }
};

task<void> hear(Runtime& runtime, void* context) {
  auto& hearer = *static_cast<Hearer*>(context);
  auto made = Datagrams::bind(runtime, {IpAddress::any(), kPort}, hearer.settings, hearer.keys, hearer.refusals);
  hearer.datagrams = made->get();
  const Status ended = co_await (*made)->receive(callback_to<&Hearer::on_datagram>(hearer), nullptr);
  static_cast<void>(ended);
}

// A node that says something every ten milliseconds, and listens only to what datagrams need.
struct Speaker {
  Endpoint to;
  DatagramSettings settings{.self = test_node("speaker", Role::kWorker).self.identity};
  wire::Keyring keys = test_keyring();
  RefusalWatch refusals;
  std::vector<std::string> says;
  Datagrams* datagrams = nullptr;
};

task<void> listen(Datagrams& datagrams) {
  const auto ignored = [](const Endpoint&, uint64_t, Bytes) {};
  const Status ended = co_await datagrams.receive(ignored, nullptr);
  static_cast<void>(ended);
}

task<void> speak(Runtime& runtime, void* context) {
  auto& speaker = *static_cast<Speaker*>(context);
  co_await runtime.sleep(Duration::millis(5));
  auto made = Datagrams::bind(runtime, {IpAddress::any(), kPort}, speaker.settings, speaker.keys, speaker.refusals);
  speaker.datagrams = made->get();
  const task<void> listening = listen(**made);
  for (const std::string& text : speaker.says) {
    const Status sent = (*made)->send(speaker.to, as_bytes(text));
    static_cast<void>(sent);
    co_await runtime.sleep(Duration::millis(10));
  }
  co_await runtime.sleep_until(Instant::never());
}

// Somebody on the network who keeps every datagram that comes by, and shows them again.
struct Eavesdropper {
  Endpoint to;
  std::vector<std::string> kept;
  uint64_t shown = 0;
};

task<void> keep_all(Runtime& runtime, void* context) {
  auto& all = *static_cast<Eavesdropper*>(context);
  auto socket = runtime.bind_udp({IpAddress::any(), kPort});
  std::vector<std::byte> buffer(4096);
  while (true) {
    const auto came = co_await (*socket)->receive(buffer, nullptr);
    if (!came) co_return;
    all.kept.emplace_back(as_text(Bytes(buffer).first(came->size)));
  }
}

task<void> show_all(Runtime& runtime, void* context) {
  auto& all = *static_cast<Eavesdropper*>(context);
  co_await runtime.sleep(Duration::millis(5));
  auto socket = runtime.bind_udp({IpAddress::any(), 0});
  for (const std::string& datagram : all.kept) {
    const Status sent = (*socket)->send(all.to, as_bytes(datagram));
    static_cast<void>(sent);
    ++all.shown;
    if (all.shown % 50 == 0) co_await runtime.sleep(Duration::millis(1));
  }
}

class DatagramsTest : public testing::Test {
 protected:
  DatagramsTest() {
    speaker_.to = {hearing_.address(), kPort};
    eavesdropper_.to = {hearing_.address(), kPort};
  }
  // As a connection between the two would.
  void introduce() {
    wire::Announced peer = test_node("speaker", Role::kWorker).self;
    peer.session = speaker_.datagrams->session();
    hearer_.datagrams->introduce(peer);
  }
  void say(const std::string& text) {
    const Status sent = speaker_.datagrams->send({hearing_.address(), kPort}, as_bytes(text));
    EXPECT_TRUE(sent);
    world_.run_for(Duration::seconds(1));
  }
  uint64_t refused(Refusal refusal) const { return hearer_.refusals.counts().of(refusal); }
  void hear_and_speak(std::vector<std::string> says) {
    speaker_.says = std::move(says);
    hearing_.start(&hear, &hearer_);
    speaking_.start(&speak, &speaker_);
    world_.run_for(Duration::seconds(1));
  }
  void listen_up() {
    hearing_.start(&hear, &hearer_);
    world_.run_for(Duration::millis(10));
  }
  // What the speaker says, as it is on the network, to a hearer that listens.
  void overhear(std::vector<std::string> says) {
    listen_up();
    speaker_.says = std::move(says);
    speaker_.to = {evil_.address(), kPort};
    evil_.start(&keep_all, &eavesdropper_);
    speaking_.start(&speak, &speaker_);
    world_.run_for(Duration::seconds(1));
    evil_.kill();
    ASSERT_EQ(eavesdropper_.kept.size(), speaker_.says.size());
  }
  void show() {
    if (evil_.is_running()) evil_.kill();
    evil_.start(&show_all, &eavesdropper_);
    world_.run_for(Duration::seconds(2));
  }

  Hearer hearer_;
  Speaker speaker_;
  std::vector<std::unique_ptr<Speaker>> crowd_;
  Eavesdropper eavesdropper_;
  sim::World world_{5};
  sim::Node& hearing_ = world_.add_node("hearing");
  sim::Node& speaking_ = world_.add_node("speaking");
  sim::Node& evil_ = world_.add_node("evil");
};

TEST_F(DatagramsTest, what_was_said_is_heard_and_from_whom) {
  hear_and_speak({"one", "", "three"});
  EXPECT_THAT(hearer_.heard, ElementsAre("one", "", "three"));
  EXPECT_EQ(hearer_.senders[0], wire::node_hash("speaker"));
  EXPECT_EQ(hearer_.datagrams->counts().received, 3U);
}

TEST_F(DatagramsTest, a_first_one_costs_a_challenge_and_the_others_do_not) {
  hear_and_speak({"one", "", "three"});
  EXPECT_EQ(refused(Refusal::kUnproven), 1U);
  EXPECT_EQ(hearer_.datagrams->counts().challenges, 1U);
  EXPECT_EQ(speaker_.datagrams->counts().sent_again, 1U);
  EXPECT_EQ(speaker_.datagrams->counts().sent_bytes, 11 + 4 * wire::kEnvelopeOverhead);
}

TEST_F(DatagramsTest, after_a_connection_there_is_no_challenge) {
  hearing_.start(&hear, &hearer_);
  speaking_.start(&speak, &speaker_);
  world_.run_for(Duration::millis(100));
  introduce();
  say("known");
  EXPECT_THAT(hearer_.heard, ElementsAre("known"));
  EXPECT_EQ(hearer_.refusals.counts().total(), 0U);
}

TEST_F(DatagramsTest, the_keys_of_many_senders_are_derived_once) {
  constexpr std::size_t kSpeakers = 400;
  hearing_.start(&hear, &hearer_);
  for (std::size_t i = 0; i < kSpeakers; ++i) {
    const std::string name = "speaker" + std::to_string(i);
    auto& one = *crowd_.emplace_back(std::make_unique<Speaker>());
    one.to = speaker_.to;
    one.settings.self = test_node(name, Role::kWorker).self.identity;
    one.says = {"one", "two", "three"};
    world_.add_node(name).start(&speak, &one);
  }
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(hearer_.datagrams->counts().received, 3 * kSpeakers);
  EXPECT_EQ(hearer_.datagrams->counts().derived, kSpeakers);
}

TEST_F(DatagramsTest, what_the_network_repeats_is_heard_once) {
  hear_and_speak({"hello"});
  world_.network().set_links({.duplicate = 1, .reorder = 0.5});
  for (const char* text : {"a", "b", "c", "d"}) say(text);
  EXPECT_THAT(hearer_.heard, ElementsAre("hello", "a", "b", "c", "d"));
  EXPECT_EQ(refused(Refusal::kReplayed), 4U);
}

TEST_F(DatagramsTest, a_network_that_loses_challenges_only_delays) {
  world_.network().block(hearing_, speaking_);
  hear_and_speak({"lost", "lost too"});
  EXPECT_THAT(hearer_.heard, IsEmpty());
  EXPECT_EQ(hearer_.datagrams->counts().challenges, 2U);
  world_.network().heal();
  say("heard");
  EXPECT_THAT(hearer_.heard, ElementsAre("heard"));
}

TEST_F(DatagramsTest, another_process_under_our_name_is_heard) {
  speaker_.settings.self = hearer_.settings.self;
  hear_and_speak({"x"});
  EXPECT_EQ(refused(Refusal::kOwnName), 0U);
  EXPECT_THAT(hearer_.heard, testing::SizeIs(1));
}

TEST_F(DatagramsTest, another_secret_or_cluster_is_refused_without_crypto) {
  speaker_.keys = test_keyring("another secret, 9Z!");
  hear_and_speak({"x"});
  EXPECT_EQ(refused(Refusal::kUnknownKey), 1U);
  speaking_.kill();
  speaker_.keys = test_keyring();
  speaker_.settings.self.environment = "prod";
  speaking_.start(&speak, &speaker_);
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(refused(Refusal::kCluster), 1U);
  EXPECT_THAT(hearer_.heard, IsEmpty());
  EXPECT_EQ(hearer_.datagrams->counts().opened, 0U);
}

TEST_F(DatagramsTest, what_was_overheard_is_not_taken_from_somebody_who_cannot_answer) {
  overhear({"a", "b"});
  show();
  EXPECT_THAT(hearer_.heard, IsEmpty());
  EXPECT_EQ(refused(Refusal::kUnproven), 2U);
}

TEST_F(DatagramsTest, what_was_overheard_is_taken_once) {
  overhear({"a", "b"});
  introduce();
  show();
  EXPECT_THAT(hearer_.heard, testing::UnorderedElementsAre("a", "b"));
  show();
  show();
  EXPECT_EQ(hearer_.heard.size(), 2U);
  EXPECT_EQ(refused(Refusal::kReplayed), 4U);
}

TEST_F(DatagramsTest, what_was_overheard_is_of_no_use_when_the_hearer_has_started_again) {
  overhear({"a", "b"});
  introduce();
  show();
  EXPECT_EQ(hearer_.heard.size(), 2U);
  hearing_.kill();
  listen_up();
  show();
  EXPECT_EQ(hearer_.heard.size(), 2U);
  EXPECT_EQ(refused(Refusal::kUnproven), 2U);
}

TEST_F(DatagramsTest, what_was_overheard_is_of_no_use_when_the_speaker_has_started_again) {
  overhear({"a", "b"});
  introduce();
  speaking_.kill();
  speaker_.to = {hearing_.address(), kPort};
  speaker_.says = {"new"};
  speaking_.start(&speak, &speaker_);
  world_.run_for(Duration::seconds(1));
  show();
  EXPECT_THAT(hearer_.heard, ElementsAre("new"));
  EXPECT_EQ(refused(Refusal::kUnproven), 3U);
}

TEST_F(DatagramsTest, a_hearer_that_started_again_is_soon_spoken_to_again) {
  hear_and_speak({"before"});
  hearing_.kill();
  listen_up();
  say("after");
  EXPECT_THAT(hearer_.heard, ElementsAre("before", "after")) << "at the price of one challenge";
  EXPECT_EQ(speaker_.datagrams->counts().sent_again, 2U);
}

TEST_F(DatagramsTest, however_often_a_speaker_starts_again_it_is_heard) {
  hear_and_speak({"again"});
  for (std::size_t start = 2; start <= 60; ++start) {
    speaking_.kill();
    speaking_.start(&speak, &speaker_);
    world_.run_for(Duration::seconds(1));
    ASSERT_EQ(hearer_.heard.size(), start);
  }
  EXPECT_EQ(refused(Refusal::kForged), 0U);
}

TEST_F(DatagramsTest, every_damaged_or_shortened_datagram_is_refused) {
  overhear({"whole"});
  introduce();
  const std::string good = eavesdropper_.kept[0];
  eavesdropper_.kept.clear();
  for (std::size_t i = 0; i < good.size(); ++i) {
    eavesdropper_.kept.push_back(good.substr(0, i));
    eavesdropper_.kept.push_back(good);
    eavesdropper_.kept.back()[i] = static_cast<char>(good[i] ^ 0x20);
  }
  eavesdropper_.kept.push_back(good + std::string(2000, 'x'));
  show();
  EXPECT_THAT(hearer_.heard, IsEmpty());
  EXPECT_EQ(hearer_.refusals.counts().total(), eavesdropper_.kept.size());
  EXPECT_EQ(refused(Refusal::kOversized), 1U);
  EXPECT_GT(refused(Refusal::kForged), 0U);
  eavesdropper_.kept = {good};
  show();
  EXPECT_THAT(hearer_.heard, ElementsAre("whole")) << "none of it has changed any state";
}

TEST_F(DatagramsTest, a_flood_of_forgeries_costs_no_more_crypto_than_its_source_may) {
  hearer_.settings.rate = {.per_source = 10, .burst = 20, .in_all = 1000, .burst_in_all = 1000, .sources = 64};
  overhear({"good"});
  std::string forged = eavesdropper_.kept[0];
  forged.back() = static_cast<char>(forged.back() ^ 1);
  eavesdropper_.kept.assign(20'000, forged);
  show();
  EXPECT_EQ(eavesdropper_.shown, 20'000U);
  EXPECT_LE(hearer_.datagrams->counts().opened, 45U);
  EXPECT_GT(refused(Refusal::kRateLimited), 10'000U);
  speaking_.kill();
  speaker_.to = {hearing_.address(), kPort};
  speaker_.says.assign(200, "still heard");
  speaking_.start(&speak, &speaker_);
  world_.run_for(Duration::seconds(3));
  EXPECT_EQ(hearer_.heard.size(), 200U) << "authentic ones from elsewhere pass, more than the rate of strangers";
}

TEST_F(DatagramsTest, garbage_costs_no_crypto_at_all) {
  hearing_.start(&hear, &hearer_);
  for (int i = 0; i < 5000; ++i) eavesdropper_.kept.push_back(std::string(static_cast<std::size_t>(i % 300), 'g'));
  show();
  EXPECT_EQ(hearer_.datagrams->counts().opened, 0U);
  EXPECT_EQ(hearer_.refusals.counts().total(), 5000U);
}

TEST_F(DatagramsTest, clocks_do_not_matter) {
  speaking_.start(&speak, &speaker_);
  world_.run_for(Duration::millis(50));
  speaking_.kill();
  speaking_.step_wall(Duration::hours(-1));
  hear_and_speak({"early"});
  speaking_.step_wall(Duration::hours(5));
  hearing_.step_wall(Duration::hours(-5));
  say("after");
  EXPECT_THAT(hearer_.heard, ElementsAre("early", "after"));
}

TEST_F(DatagramsTest, the_secret_changes_in_three_rounds_and_nothing_is_lost) {
  hear_and_speak({"old"});
  const auto next = [] { return std::move(*wire::Secret::take("the next secret, 2b!")); };
  const wire::KeyId old = hearer_.keys.in_use();
  const wire::KeyId id = *hearer_.keys.learn(next());
  ASSERT_TRUE(speaker_.keys.learn(next()));
  ASSERT_TRUE(speaker_.keys.use(id));
  say("new");
  ASSERT_TRUE(hearer_.keys.use(id));
  ASSERT_TRUE(hearer_.keys.forget(old));
  say("newer");
  EXPECT_THAT(hearer_.heard, ElementsAre("old", "new", "newer"));
  ASSERT_TRUE(speaker_.keys.use(old));
  say("too old");
  EXPECT_EQ(refused(Refusal::kUnknownKey), 1U);
}

TEST_F(DatagramsTest, too_long_a_text_is_refused_by_its_sender) {
  hear_and_speak({"x"});
  const std::string text(speaker_.datagrams->text_max() + 1, 'x');
  EXPECT_EQ(speaker_.datagrams->send(speaker_.to, as_bytes(text)).error().code, Errc::kTooLarge);
  EXPECT_TRUE(speaker_.datagrams->send(speaker_.to, as_bytes(text).first(text.size() - 1)));
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(hearer_.heard.back().size(), text.size() - 1);
}

}  // namespace
}  // namespace bellwether::link
