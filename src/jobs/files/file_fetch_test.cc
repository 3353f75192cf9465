#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/net/message_classes.h"
#include "cluster/net/node_testing.h"
#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/files/file_store.h"
#include "sim/machine_testing.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

const runtime::Endpoint kAnyPort{runtime::IpAddress::loopback(), 0};
const cluster::MessageClasses kFileMessages(&message::message_of<dispatch::JobMessage>());

// A manager with a file, of which it gives the first `gives` bytes in chunks of 100.
class Giver final : public cluster::Service {
 public:
  Giver(runtime::Runtime& runtime, const std::string& name)
      : node(runtime, name, wire::Role::kManager, kAnyPort, kFileMessages) {
    node.router.connect(cluster::message_type::kDispatch, *this);
  }
  ~Giver() override { node.router.disconnect(cluster::message_type::kDispatch); }
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    const auto message = dispatch::decode_message(as_text(request.body));
    const auto& wanted = std::get<dispatch::FetchFile>(*message);
    dispatch::Response response = dispatch::refusal(dispatch::Refusal::Kind::kUnknown, "no such file here");
    if (wanted.offset < gives) {
      const std::string bytes = content.substr(wanted.offset, std::min<std::size_t>(100, gives - wanted.offset));
      given += bytes.size();
      response = dispatch::FileChunk{bytes};
    }
    const std::string body = dispatch::encode(response);
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(body), true);
  }

  cluster::TestNode node;
  std::string content;
  std::size_t gives = 0;
  std::size_t given = 0;
};

class FileFetchTest : public sim::MachineTest {
 protected:
  FileFetchTest() {
    for (int i = 0; i < 1'050; ++i) content_ += static_cast<char>('a' + i % 26);
    file_ = {sha256_hex(content_), content_.size()};
    for (Giver* one : {&m1_, &m2_}) one->content = content_;
  }
  ~FileFetchTest() override {
    machine_.run(fetches_.close());
    for (cluster::TestNode* node : {&m1_.node, &m2_.node, &w1_}) machine_.run(node->close());
  }
  Result<uint64_t> want() { return fetches_.want(file_, {m1_.node.address(), m2_.node.address()}); }
  // As an owner's offers do.
  Result<uint64_t> want_until_done() {
    Result<uint64_t> have = 0;
    const bool done = machine_.until([&] {
      have = want();
      return !have || store_.is_whole(file_);
    });
    return done ? have : fail(Errc::kTimeout, "it never ended");
  }

  Giver m1_{runtime_, "m1"};
  Giver m2_{runtime_, "m2"};
  cluster::TestNode w1_{runtime_, "w1", wire::Role::kWorker, kAnyPort, kFileMessages};
  FileStore store_{runtime_, {.folder = "/data/files", .bytes_most = 1 << 30}};
  FileFetches fetches_{runtime_, *w1_.links, store_};
  std::string content_;
  FileRef file_;
};

TEST_F(FileFetchTest, a_file_is_fetched_once_whoever_wants_it) {
  m1_.gives = content_.size();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(want());
  ASSERT_TRUE(want_until_done());
  EXPECT_EQ(m1_.given, content_.size());
  EXPECT_EQ(*want(), content_.size());
  machine_.run_for(Duration::seconds(1));
  EXPECT_EQ(m1_.given + m2_.given, content_.size());
}

TEST_F(FileFetchTest, it_goes_on_with_another_manager_from_what_it_has) {
  m1_.gives = 400;
  m2_.gives = content_.size();
  ASSERT_TRUE(want_until_done());
  EXPECT_EQ(m1_.given, 400u);
  EXPECT_EQ(m2_.given, content_.size() - 400);
}

TEST_F(FileFetchTest, a_damaged_copy_is_replaced_by_that_of_another_manager) {
  m1_.content[777] = '!';
  m1_.gives = m2_.gives = content_.size();
  ASSERT_TRUE(want_until_done());
  EXPECT_EQ(m1_.given, content_.size());
  EXPECT_EQ(m2_.given, content_.size());
}

TEST_F(FileFetchTest, copies_that_are_all_damaged_are_an_error) {
  m1_.content[777] = m2_.content[777] = '!';
  m1_.gives = m2_.gives = content_.size();
  const auto failed = want_until_done();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("its bytes do not match its hash"));
  EXPECT_EQ(m1_.given + m2_.given, 3 * content_.size());
}

TEST_F(FileFetchTest, without_a_byte_for_half_a_minute_it_fails_and_a_later_try_goes_on) {
  m1_.gives = 400;
  const auto failed = want_until_done();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("no manager has sent a byte of the data file"));
  EXPECT_THAT(failed.error().message, HasSubstr("no such file here"));
  m1_.gives = content_.size();
  ASSERT_TRUE(want_until_done());
  EXPECT_EQ(m1_.given, content_.size()) << "the first 400 bytes once";
}

TEST_F(FileFetchTest, a_fetch_that_nobody_wants_any_more_ends) {
  m1_.gives = 100;
  ASSERT_TRUE(want());
  for (int i = 0; i < 10; ++i) {
    machine_.run_for(Duration::seconds(15));
    m1_.gives += 90;
  }
  EXPECT_LE(m1_.given, 500u) << "after a minute";
  EXPECT_GE(m1_.given, 300u);
}

}  // namespace
}  // namespace bellwether::node
