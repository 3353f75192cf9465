#include "load/script/loader.h"

#include <gmock/gmock.h>

#include "bellwether/workflow_abi.h"
#include "core/signature/signature.h"
#include "core/signature/signature_testing.h"
#include "load/script/native/native_testing.h"

namespace bellwether::script {
namespace {

using testing::HasSubstr;

constexpr std::string_view kShop = R"(#include <bellwether/workflow.h>
using namespace bellwether::workflow;
class Shop : public Workflow {
 public:
  static constexpr Settings settings{.name = "shop", .vus = 1, .duration = 1_s};
  static void steps(Steps<Shop>& s) { s.step("look", &Shop::look); }
 private:
  Task<Response> look() { co_return co_await get("http://h/"); }
};
BELLWETHER_WORKFLOWS(Shop)
)";

class LoaderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { compiled_ = new native::Compiled(kShop); }
  static void TearDownTestSuite() { delete std::exchange(compiled_, nullptr); }

  static std::string signed_by(std::string_view key, uint32_t interface = BELLWETHER_ABI_VERSION) {
    return signature::sign(compiled_->bytes(), {interface, "0.1.0"}, *signature::SigningKey::read(key, "k"));
  }
  // Empty: it was loaded.
  static std::string why_not(const Loader& loader, std::string bytes) {
    plan::Program program{plan::Program::Language::kNative, "shop.bw", nullptr, {}};
    program.text = std::make_shared<const std::string>(std::move(bytes));
    const auto loaded = loader.load(program);
    return loaded ? std::string() : loaded.error().message;
  }

  static native::Compiled* compiled_;
  const Loader users_{Compiled::kRun};
  const Loader strangers_{Compiled::kTrusted, {}, *signature::read_public_keys(signature::kTestPublicKey, "k")};
};

native::Compiled* LoaderTest::compiled_ = nullptr;

TEST_F(LoaderTest, what_comes_from_elsewhere_runs_when_a_trusted_key_has_signed_it) {
  EXPECT_EQ(why_not(strangers_, signed_by(signature::kTestKey)), "");
  EXPECT_THAT(why_not(strangers_, compiled_->bytes()), HasSubstr("without a signature"));
  EXPECT_THAT(why_not(strangers_, signed_by(signature::kOtherKey)), HasSubstr("which this worker does not trust"));
  EXPECT_THAT(why_not(strangers_, signed_by(signature::kTestKey, BELLWETHER_ABI_VERSION + 1)), HasSubstr("rebuild it"));
  EXPECT_THAT(why_not(Loader(), signed_by(signature::kTestKey)), HasSubstr("--trust-keys"));
}

TEST_F(LoaderTest, what_was_changed_after_it_was_signed_runs_nowhere) {
  std::string bytes = signed_by(signature::kTestKey);
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(why_not(strangers_, bytes), HasSubstr("changed after it was signed"));
  EXPECT_THAT(why_not(users_, bytes), HasSubstr("changed after it was signed"));
}

TEST_F(LoaderTest, the_users_own_needs_no_signature_and_may_have_anybodys) {
  EXPECT_EQ(why_not(users_, compiled_->bytes()), "");
  EXPECT_EQ(why_not(users_, signed_by(signature::kOtherKey)), "");
}

}  // namespace
}  // namespace bellwether::script
