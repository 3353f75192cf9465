// Scenarios with files of data, as plans.
#include <gmock/gmock.h>

#include "load/plan/feeder.h"
#include "load/plan/load.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

constexpr const char* kLoadDataShop = R"yaml(
data:
  users: {csv: data/users.csv, delimiter: ";", pick: unique-per-vu}
  people: {json: people.json}
  unused: {jsonl: lines.jsonl, pick: random}
workflows:
  buy:
    vus: 2
    duration: 1s
    steps:
      pay:
        http:
          post: "http://h/${users.user name}"
          body: "${people.address.city}${people.tags[0]}${users.user name}"
      home: {http: {get: "http://h/${users.pass}"}}
  look:
    vus: 3
    duration: 1s
    steps:
      one: {http: {get: "http://h/${people.name}"}}
  none:
    vus: 1
    duration: 1s
    steps:
      one: {http: {get: "http://h/"}}
)yaml";

void load_data_fill(TestSources& shop) {
  shop.world.files = {{"data/users.csv", "user name;pass\nann;1\nbob;2\n"},
                      {"people.json", "[{\"name\": \"cy\", \"address\": {\"city\": \"Bonn\"}, \"tags\": [\"x\"]}]"},
                      {"lines.jsonl", "{\"a\": 1}\n"}};
  shop.outside = &shop.world;
}

// What the fields of a workflow's feeds are in row `row` of each: "users.pass=1".
std::string shown(const Workflow& workflow, uint64_t row) {
  std::string out;
  for (const Feed& feed : workflow.feeds) {
    for (const RowField& field : feed.fields) {
      std::string value;
      const uint64_t number = row % feed.feeder->rows();
      if (!feed.feeder->read(feed.feeder->row(number), field, value)) value = "(none)";
      out += (out.empty() ? "" : " ") + workflow.slot_names[field.slot] + "=" + value;
    }
  }
  return out;
}

TEST(LoadData, a_workflow_takes_the_fields_that_it_mentions_once_each) {
  TestSources shop(kLoadDataShop);
  load_data_fill(shop);
  const auto plan = shop.load();
  ASSERT_TRUE(plan) << shop.errors();
  const auto& workflows = plan->workflows;
  ASSERT_EQ(workflows[0].feeds.size(), 2u);
  EXPECT_EQ(workflows[0].feeds[0].pick, Feed::Pick::kUniquePerVu);
  EXPECT_EQ(workflows[0].feeds[1].pick, Feed::Pick::kSequential);
  EXPECT_EQ(shown(workflows[0], 1), "users.user name=bob users.pass=2 people.address.city=Bonn people.tags[0]=x");
  EXPECT_EQ(shown(workflows[1], 0), "people.name=cy");
  EXPECT_EQ(workflows[0].feeds[1].feeder, workflows[1].feeds[0].feeder);
  EXPECT_TRUE(workflows[2].feeds.empty());
  const auto& pay = std::get<HttpCall>(workflows[0].steps[0].work);
  EXPECT_EQ(show(pay.url), "http://h/{slot 0|url}");
  EXPECT_EQ(show(*pay.body), "{slot 1}{slot 2}{slot 0}");
}

TEST(LoadData, users_beyond_the_last_row_are_for_those_who_say_so) {
  TestSources few(kLoadDataShop);
  load_data_fill(few);
  few.overrides.vus = 3;
  EXPECT_THAT(few.errors(), testing::HasSubstr("the data 'users' has 2 rows for the up to 3 users of workflow 'buy'"));
  std::string text = kLoadDataShop;
  text.replace(text.find("unique-per-vu"), 13, "unique-per-vu, wrap: true");
  TestSources wrapping(text);
  load_data_fill(wrapping);
  wrapping.overrides.vus = 3;
  EXPECT_EQ(wrapping.errors(), "");
}

TEST(LoadData, columns_behind_a_semicolon_get_the_remedy) {
  TestSources shop(
      "data: {users: {csv: u.csv}}\n"
      "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/${users.pass}'}}}}}\n");
  shop.world.files = {{"u.csv", "name;pass\nann;1\n"}};
  shop.outside = &shop.world;
  EXPECT_THAT(shop.errors(), testing::HasSubstr("no column 'pass'\n  expected: name;pass\n  if ';' separates"));
  shop.world.files = {{"u.csv", "name,word\nann,1\n"}};
  EXPECT_THAT(shop.errors(), testing::Not(testing::HasSubstr("delimiter")));
}

// Views that are not copies of what the world says.
class Mapped final : public FakeOutside {
 public:
  Result<scenario::FileView> view_file(const std::string& path, uint64_t) const override {
    ++asked;
    const auto found = files.find(path);
    if (found == files.end()) return fail(Errc::kNotFound, "no such file");
    return scenario::FileView{found->second, nullptr};
  }
  mutable int asked = 0;
};

TEST(LoadData, a_file_is_viewed_once_and_travels_in_the_bundle) {
  TestSources shop(kLoadDataShop);
  load_data_fill(shop);
  Mapped world;
  world.files = shop.world.files;
  shop.outside = &world;
  const auto made = bundle_scenario(shop);
  ASSERT_TRUE(made);
  EXPECT_EQ(world.asked, 3);
  const auto again = plan_of(made->bundle);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(world.asked, 3);
  EXPECT_EQ(shown(again->workflows[0], 0), shown(made->plan.workflows[0], 0));
  EXPECT_EQ(again->workflows[0].feeds[0].feeder->rows(), 2u);
}

TEST(LoadData, a_plan_whose_data_is_elsewhere_has_its_feeds_and_no_rows) {
  TestSources shop(kLoadDataShop);
  load_data_fill(shop);
  Mapped world;
  world.files = shop.world.files;
  shop.outside = &world;
  auto made = bundle_scenario(shop);
  ASSERT_TRUE(made);
  auto& record = std::get<scenario::RecordedScenario>(made->bundle);
  for (const auto& [question, view] : std::exchange(record.views, {})) record.apart[question] = {"abc", 10};
  const auto plan = plan_of(made->bundle);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->workflows[0].feeds.size(), made->plan.workflows[0].feeds.size());
  EXPECT_EQ(plan->workflows[0].feeds[0].feeder, nullptr);
  EXPECT_EQ(plan->workflows[0].slot_names, made->plan.workflows[0].slot_names);
  EXPECT_EQ(plan->steps.size(), made->plan.steps.size());
}

}  // namespace
}  // namespace bellwether::plan
