#include "bellwether/client.h"

#include <gmock/gmock.h>

#include "core/runtime/temporary_testing.h"

namespace bellwether::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ClientTest : public testing::Test {
 protected:
  Options good() {
    Options out;
    out.managers = {"127.0.0.1:1"};  // no process listens there
    out.cluster = "flock";
    out.secret_file = secret;
    out.patience = 200ms;
    return out;
  }
  static Error refused(const Options& options) {
    const auto client = Client::connect(options);
    return client ? Error{Code::kClosed, "it was taken", {}} : client.error();
  }
  runtime::TemporaryFolder folder;
  const std::string secret = folder.file("secret", "a secret of a test, 0123456789");
};

TEST_F(ClientTest, options_that_cannot_be_used_are_told) {
  Options options = good();
  options.managers = {"::1"};
  EXPECT_THAT(refused(options).message, HasSubstr("manager '::1'"));
  options.managers = {};
  EXPECT_THAT(refused(options).message, HasSubstr("no manager"));
  options = good();
  options.secret_file = folder.path("nothing");
  EXPECT_THAT(refused(options).message, HasSubstr("nothing"));
  options = good();
  options.settings_file = folder.path("nowhere.yaml");
  EXPECT_THAT(refused(options).message, HasSubstr("nowhere.yaml"));
  options = good();
  options.patience = 0ms;
  EXPECT_THAT(refused(options).message, HasSubstr("patience"));
  options = good();
  options.quorum_wait = 169h;
  EXPECT_THAT(refused(options).message, HasSubstr("168h"));
  options = good();
  options.certificate = folder.path("none.pem");
  options.key = folder.path("none-key.pem");
  options.ca = folder.path("none-ca.pem");
  EXPECT_THAT(refused(options).message, HasSubstr("none"));
  for (const Options& one : {options}) EXPECT_EQ(refused(one).code, Code::kInvalid);
}

TEST_F(ClientTest, what_is_wrong_with_a_settings_file_has_its_place) {
  Options options = good();
  options.settings_file = folder.file("client.yaml", "cluster: flock\nseats: [10.0.0.1]\n");
  const Error error = refused(options);
  EXPECT_EQ(error.code, Code::kInvalid);
  ASSERT_EQ(error.diagnostics.size(), 1U);
  EXPECT_EQ(error.diagnostics[0].file, options.settings_file);
  EXPECT_EQ(error.diagnostics[0].line, 2);
  EXPECT_EQ(error.diagnostics[0].column, 1);
  EXPECT_THAT(error.diagnostics[0].text, HasSubstr("client.yaml:2:1: "));
}

TEST_F(ClientTest, seeds_of_the_file_are_managers_where_none_are_named) {
  Options options = good();
  options.managers = {};
  options.settings_file = folder.file("client.yaml", "cluster: flock\nseeds: ['127.0.0.1:1']\n");
  const auto client = Client::connect(options);
  ASSERT_TRUE(client) << client.error().message;
  const auto jobs = (*client)->jobs();
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().code, Code::kUnreachable);
  EXPECT_THAT(jobs.error().message, HasSubstr("no answer from 127.0.0.1:1 (for "));
  EXPECT_THAT(jobs.error().message, HasSubstr("start these again"));
  EXPECT_EQ((*client)->answered_by(), "");
}

TEST_F(ClientTest, where_nobody_listens_nothing_was_taken) {
  const auto client = Client::connect(good());
  ASSERT_TRUE(client) << client.error().message;
  Scenario scenario;
  scenario.url = "http://127.0.0.1:1/";
  const auto refusal = [&] {
    const auto job = (*client)->submit(scenario);
    return job ? Error{Code::kClosed, "it was taken", {}} : job.error();
  };
  Error error = refusal();
  // A client that stands still while it connects cannot know, and another attempt tells.
  for (int i = 0; i < 100 && error.code == Code::kUnconfirmed; ++i) error = refusal();
  EXPECT_EQ(error.code, Code::kUnreachable);
  EXPECT_THAT(error.message, HasSubstr("was not accepted"));
  EXPECT_EQ((*client)->attach("j").error().code, Code::kUnreachable);
  EXPECT_EQ((*client)->status("j").error().code, Code::kUnreachable);
  EXPECT_EQ((*client)->cancel("j", {}).error().code, Code::kUnreachable);
}

TEST_F(ClientTest, a_wrong_scenario_is_not_sent) {
  const auto client = Client::connect(good());
  ASSERT_TRUE(client) << client.error().message;
  Scenario scenario;
  EXPECT_EQ((*client)->submit(scenario).error().code, Code::kInvalid);
  scenario.text = "workflows: {}\n";
  EXPECT_EQ((*client)->submit(scenario).error().code, Code::kScenario);
}

TEST(Outcome, holds_one_of_two) {
  Outcome<int> value(7);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 7);
  EXPECT_THROW(static_cast<void>(value.error()), std::bad_variant_access);
  const Outcome<int> error(Error{Code::kTimeout, "late", {}});
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message, "late");
  EXPECT_THROW(static_cast<void>(*error), std::bad_variant_access);
}

}  // namespace
}  // namespace bellwether::client
