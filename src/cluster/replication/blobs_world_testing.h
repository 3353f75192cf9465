// Voters that keep blobs and managers that use them, in one runtime: real links of the loopback interface, real files.
// Any of them can be taken down and up again; disks can be made full.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/kv.h"
#include "cluster/replication/blob_replica.h"
#include "cluster/replication/blobs.h"
#include "cluster/wire/link/link_testing.h"
#include "core/base/check.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/temporary_testing.h"

namespace bellwether::blobs {

inline BlobKey ingest(std::string job = "job") { return {std::move(job), "ingest"}; }

// Bytes that differ from those of any other seed, all through.
inline std::string value_of(uint64_t seed, std::size_t size) {
  Prng prng(seed);
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; i += 8) {
    const uint64_t word = prng.next();
    for (std::size_t j = 0; j < 8 && i + j < size; ++j) bytes[i + j] = static_cast<char>(word >> (8 * j));
  }
  return bytes;
}

class AddressBook final {
 public:
  std::optional<cluster::PeerAddress> find(const std::string& name) const {
    const auto found = places.find(name);
    if (found == places.end()) return std::nullopt;
    return cluster::PeerAddress{name, found->second};
  }
  std::map<std::string, runtime::Endpoint> places;
};

// A disk that fails on command: before it has written anything, or after.
class TroubledKv final : public cluster::Kv {
 public:
  enum class Trouble : unsigned char { kNone, kFull, kDoubtful };
  TroubledKv(std::unique_ptr<cluster::Kv> kv, const Trouble& trouble) : kv_(std::move(kv)), trouble_(trouble) {}

  runtime::task<Result<std::optional<std::string>>> get(std::string key) override { return kv_->get(std::move(key)); }
  runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override {
    return kv_->list(std::move(prefix));
  }
  runtime::task<Status> put(std::vector<cluster::KvChange> changes) override {
    if (trouble_ == Trouble::kFull) co_return fail(Errc::kNoSpace, "the disk is full");
    const bool doubtful = trouble_ == Trouble::kDoubtful;
    Status done = co_await kv_->put(std::move(changes));
    if (doubtful) co_return fail(Errc::kNoSpace, "the disk said something that nobody understood");
    co_return done;
  }

 private:
  std::unique_ptr<cluster::Kv> kv_;
  const Trouble& trouble_;
};

class Peer final {
 public:
  Peer(runtime::EpollRuntime& runtime, std::string name, std::vector<std::string> voters, AddressBook& book,
       std::string disk, wire::Role role)
      : runtime_(runtime), name_(std::move(name)), voters_(std::move(voters)), book_(book), disk_(std::move(disk)) {
    dialling_.handshake = link::test_node(name_, role);
    dialling_.connect_timeout = Duration::seconds(1);
    serving_.handshake = link::test_node(name_, role);
    settings.sweep_every = Duration::millis(20);
    settings.first_start = true;
  }
  ~Peer() { stop(); }

  BlobReplicaSettings settings;
  BlobsSettings asking;
  TroubledKv::Trouble trouble = TroubledKv::Trouble::kNone;
  std::vector<std::string> notes;
  std::unique_ptr<registers::Lines> lines;
  std::unique_ptr<BlobReplica> replica;
  std::unique_ptr<Blobs> blobs;

  void start() {
    auto made = link::Server::listen(runtime_, at_, serving_, keys_, router_, refusals_);
    check(made.has_value(), "the loopback interface has ports");
    server_ = std::move(*made);
    at_ = server_->local();
    book_.places[name_] = at_;
    scope_ = std::make_unique<runtime::Scope>();
    scope_->spawn(server_->serve(scope_->cancellation()));
    links_ = std::make_unique<cluster::PeerLinks>(runtime_, dialling_, keys_, router_, refusals_);
    lines =
        std::make_unique<registers::Lines>(*links_, router_, callback_to<&AddressBook::find>(book_), name_, voters_);
    blobs = std::make_unique<Blobs>(runtime_, *lines, asking, runtime_.prng().next());
    if (!disk_.empty()) {
      auto opened = runtime_.run(cluster::open_sqlite_kv(runtime_, disk_));
      check(opened.has_value(), "a voter's disk opens");
      kv_ = std::make_unique<TroubledKv>(std::move(*opened), trouble);
      replica = std::make_unique<BlobReplica>(runtime_, *kv_, *lines, settings, callback_to<&Peer::on_note>(*this));
      scope_->spawn(replica->run(scope_->cancellation()));
      while (!replica->started()) runtime_.run(pause(runtime_));
    }
    settings.first_start = false;
  }
  void stop() {
    if (scope_ == nullptr) return;
    runtime_.run(ended(this));
    blobs.reset();
    replica.reset();
    lines.reset();
    links_.reset();
    kv_.reset();
    server_.reset();
    scope_.reset();
  }
  // Messages that were not for their sender to send.
  uint64_t refused() const { return router_.refused(); }
  bool up() const { return scope_ != nullptr; }
  void lose_disk() { disk_ += ".new"; }
  // How many names on its disk begin so.
  std::size_t stored(std::string prefix) {
    const auto found = runtime_.run(kv_->list(std::move(prefix)));
    return found ? found->size() : 0;
  }

 private:
  static runtime::task<int> pause(runtime::EpollRuntime& runtime) {
    co_await runtime.sleep(Duration::millis(1));
    co_return 0;
  }
  // Connections end at once: what was under way is lost.
  static runtime::task<int> ended(Peer* self) {
    co_await self->links_->close(Duration::millis(0));
    if (self->blobs != nullptr) co_await self->blobs->close();
    self->scope_->cancel();
    co_await self->scope_->join();
    co_await self->lines->close();
    co_return 0;
  }
  void on_note(bool, const std::string& text) { notes.push_back(text); }

  runtime::EpollRuntime& runtime_;
  std::string name_;
  std::vector<std::string> voters_;
  AddressBook& book_;
  std::string disk_;
  wire::Keyring keys_ = link::test_keyring();
  link::RefusalWatch refusals_;
  link::DialSettings dialling_;
  link::ServerSettings serving_;
  cluster::MessageRouter router_;
  runtime::Endpoint at_{runtime::IpAddress::loopback(), 0};
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<cluster::PeerLinks> links_;
  std::unique_ptr<cluster::Kv> kv_;
  std::unique_ptr<runtime::Scope> scope_;
};

// m1 to m3 (or m5) vote; "gate" and "worker" do not.
class BlobsTest : public testing::Test {
 protected:
  static constexpr Duration kPatience = Duration::minutes(1);

  explicit BlobsTest(std::size_t voters = 3) {
    for (std::size_t i = 1; i <= voters; ++i) names_.push_back("m" + std::to_string(i));
    for (const std::string& name : names_) add(name, folder_.path(name), wire::Role::kManager);
    add("gate", "", wire::Role::kGate);
    add("worker", "", wire::Role::kWorker);
    for (const auto& [name, one] : peers_) one->start();
  }
  ~BlobsTest() override {
    for (const auto& [name, one] : peers_) one->stop();
  }
  void add(const std::string& name, const std::string& disk, wire::Role role) {
    peers_[name] = std::make_unique<Peer>(*runtime_, name, names_, book_, disk, role);
  }
  Peer& peer(const std::string& name) { return *peers_.at(name); }

  Status put(const std::string& at, uint64_t fence, uint64_t number, const std::string& bytes,
             Duration within = kPatience, BlobKey key = ingest()) {
    const Instant deadline = runtime_->read_clock() + within;
    return runtime_->run(peer(at).blobs->put(std::move(key), {JobFence(fence), number}, bytes, deadline, nullptr));
  }
  // What a put that cannot succeed says. Where this process stands still until the voters cannot answer in time, the
  // next one has more time.
  std::string failure_of_put(const std::string& at, uint64_t number, const std::string& expected) {
    std::string said;
    for (Duration within = Duration::millis(300); within < kPatience; within = within * 4) {
      const Status done = put(at, 1, number, "lost", within);
      if (done) return "it was put";
      said = done.error().message;
      if (said.find(expected) != std::string::npos) break;
    }
    return said;
  }
  Result<std::optional<Blob>> get(const std::string& at, uint64_t fence = 0, Duration within = kPatience,
                                  BlobKey key = ingest()) {
    const Instant deadline = runtime_->read_clock() + within;
    return runtime_->run(peer(at).blobs->get(std::move(key), JobFence(fence), deadline, nullptr));
  }
  Result<std::optional<Blob>> get_unconfirmed(const std::string& at) {
    return runtime_->run(peer(at).blobs->get_unconfirmed(ingest(), runtime_->read_clock() + kPatience, nullptr));
  }
  Status drop(const std::string& at, std::string job = "job", Duration within = kPatience) {
    const Instant deadline = runtime_->read_clock() + within;
    return runtime_->run(peer(at).blobs->drop(std::move(job), deadline, nullptr));
  }
  // The bytes that are got; what went wrong, else.
  std::string got(const std::string& at, uint64_t fence = 0) {
    auto blob = get(at, fence);
    if (!blob) return "(" + blob.error().message + ")";
    return *blob ? (*blob)->bytes : "(nothing)";
  }
  Answer ask(const std::string& from, const std::string& voter, Question question) {
    auto answered = runtime_->run(
        peer(from).lines->ask(voter, peer(from).lines->set().number, std::move(question), kPatience, nullptr));
    EXPECT_TRUE(answered) << answered.error().message;
    return answered ? *answered : unable("");
  }
  // Whether that voter has just this, by itself.
  bool has(const std::string& voter, uint64_t fence, uint64_t number) {
    const Answer answered = ask(voter, voter, Look{ingest(), {}});
    return answered.verdict == Verdict::kKept && answered.head.version == Version{JobFence(fence), number};
  }
  // Lets everything run until it is so; the test's time limit ends it else.
  template <class Condition>
  void until(Condition condition) {
    while (!condition()) runtime_->run(pause());
  }
  runtime::task<int> pause() {
    co_await runtime_->sleep(Duration::millis(2));
    co_return 0;
  }

  runtime::TemporaryFolder folder_;
  std::unique_ptr<runtime::EpollRuntime> runtime_ = std::move(*runtime::EpollRuntime::create({}));
  AddressBook book_;
  std::vector<std::string> names_;
  std::map<std::string, std::unique_ptr<Peer>> peers_;
};

}  // namespace bellwether::blobs
