#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "core/base/encoding.h"
#include "election/store/disk/small_file.h"

namespace bellwether::store {
namespace {

using testing::StartsWith;

TEST(KeyFile, a_plain_key_is_its_own_name) {
  for (const char* key :
       {"orchestrator", "a.b-c_D9", "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"}) {
    EXPECT_EQ(file_name_of_key(key).value(), key);
    EXPECT_EQ(key_of_file_name(key), key);
  }
}

TEST(KeyFile, what_is_no_file_name_is_hashed_behind_a_readable_beginning) {
  const std::string name = file_name_of_key("agents/orchestrator 1").value();
  EXPECT_THAT(name, StartsWith("agents_orchestrator_1~"));
  EXPECT_EQ(name.size(), 22u + 64u);
  EXPECT_FALSE(key_of_file_name(name));
  EXPECT_NE(file_name_of_key("agents_orchestrator 1").value(), name);
  EXPECT_THAT(file_name_of_key("../../etc/passwd").value(), StartsWith("_._.._etc_passwd~"));
  EXPECT_THAT(file_name_of_key(".hidden").value(), StartsWith("_hidden~"));
}

TEST(KeyFile, no_file_can_stand_for_these) {
  for (const char* key : {"", ".", ".."}) EXPECT_FALSE(file_name_of_key(key)) << key;
}

TEST(KeyFile, a_long_key_gets_a_name_that_leaves_room_for_endings) {
  EXPECT_EQ(file_name_of_key(std::string(200, 'k')).value().size(), 200u);
  EXPECT_LT(file_name_of_key(std::string(201, 'k')).value().size(), 200u);
  EXPECT_NE(file_name_of_key(std::string(201, 'k')).value(), file_name_of_key(std::string(202, 'k')).value());
}

RC_GTEST_PROP(KeyFile, a_name_never_leads_out_of_its_folder, (const std::string& key)) {
  const auto name = file_name_of_key(key);
  if (!name) return;
  RC_ASSERT(name->find('/') == std::string::npos && name->find('\0') == std::string::npos);
  RC_ASSERT(!name->empty() && name->front() != '.' && name->size() <= 200);
  if (const auto back = key_of_file_name(*name)) RC_ASSERT(*back == key);
}

RC_GTEST_PROP(KeyFile, any_bytes_are_encoded_and_decoded, (const std::string& bytes)) {
  const std::string text = percent_encoded(bytes);
  RC_ASSERT(text.find_first_of(" \n\t") == std::string::npos);
  RC_ASSERT(percent_decoded(text) == bytes);
}

TEST(KeyFile, half_an_escape_is_no_text) {
  EXPECT_FALSE(percent_decoded("a%2"));
  EXPECT_FALSE(percent_decoded("%zz"));
}

}  // namespace
}  // namespace bellwether::store
