#include "load/local/request_log.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "core/runtime/temporary_testing.h"
#include "load/plan/load.h"

namespace bellwether::node {
namespace {

vuser::RequestRow row_of(uint64_t iteration) {
  return {.began = 2'000'000'500,
          .response = 1'234'567,
          .service = 1'000'400,
          .bytes_sent = 10,
          .bytes_received = 20,
          .iteration = iteration,
          .vu = 3,
          .status = 200,
          .step = 0,
          .error = http1::ErrorKind::kNone,
          .failed = false};
}

class RequestLogTest : public testing::Test {
 protected:
  std::unique_ptr<RequestLog> open(const std::string& name) {
    auto log = RequestLog::open(name, plan_);
    check(log.has_value(), "the test may write there");
    (*log)->begin(Instant::from_ns(1'500'000'000), WallTime{1'700'000'000'250'000'000});
    return std::move(*log);
  }
  static std::string content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  plan::Plan plan_ = plan::make_plan(plan::QuickRun{.url = "http://127.0.0.1:1/"}).value();
  runtime::TemporaryFolder folder_;
};

TEST_F(RequestLogTest, has_a_row_for_each_request) {
  const std::string path = folder_.path() + "/log.csv";
  auto log = open(path);
  vuser::RequestPages& pages = log->new_pages();
  pages.add(row_of(0));
  vuser::RequestRow failed = row_of(7);
  failed.service = -1;
  failed.status = 0;
  failed.error = http1::ErrorKind::kConnectRefused;
  failed.failed = true;
  pages.add(failed);
  pages.close();
  EXPECT_EQ(log->end().problem, "");
  EXPECT_EQ(log->end().left_out, 0u);
  EXPECT_EQ(content(path),
            "time,t_s,workflow,step,vu,iteration,status,failed,error,response_us,service_us,bytes_sent,bytes_received,"
            "tags\n"
            "2023-11-14T22:13:20.750000Z,0.500000,url,get,3,0,200,false,,1235,1000,10,20,\n"
            "2023-11-14T22:13:20.750000Z,0.500000,url,get,3,7,,true,connect_refused,1235,,10,20,\n");
}

TEST_F(RequestLogTest, names_the_tags_of_each_step) {
  plan_.steps[0].tags = {{"build", "7"}, {"note", "a,\"b\""}};
  for (const char* name : {"/log.csv", "/log.jsonl"}) {
    auto log = open(folder_.path() + name);
    vuser::RequestPages& pages = log->new_pages();
    pages.add(row_of(0));
    pages.close();
    log->end();
  }
  const std::string csv = content(folder_.path() + "/log.csv");
  const std::string jsonl = content(folder_.path() + "/log.jsonl");
  EXPECT_TRUE(csv.ends_with(",10,20,\"build=7;note=a,\"\"b\"\"\"\n")) << csv;
  EXPECT_TRUE(jsonl.ends_with(",\"bytes_received\":20,\"tags\":{\"build\":\"7\",\"note\":\"a,\\\"b\\\"\"}}\n"))
      << jsonl;
}

TEST_F(RequestLogTest, is_lines_of_json_too) {
  const std::string path = folder_.path() + "/log.jsonl";
  auto log = open(path);
  vuser::RequestPages& pages = log->new_pages();
  pages.add(row_of(0));
  EXPECT_TRUE(pages.flush());
  pages.close();
  log->end();
  EXPECT_EQ(content(path),
            "{\"time\":\"2023-11-14T22:13:20.750000Z\",\"t_s\":0.500000,\"workflow\":\"url\",\"step\":\"get\",\"vu\":3,"
            "\"iteration\":0,\"status\":200,\"failed\":false,\"response_us\":1235,\"service_us\":1000,"
            "\"bytes_sent\":10,\"bytes_received\":20}\n");
}

TEST_F(RequestLogTest, rows_of_many_pages_all_arrive) {
  const std::string path = folder_.path() + "/log.csv";
  auto log = open(path);
  constexpr uint64_t kRows = 3 * vuser::RequestPages::kRows + 5;
  vuser::RequestPages& pages = log->new_pages();
  vuser::RequestPages& others = log->new_pages();
  for (uint64_t i = 0; i < kRows; ++i) {
    pages.add(row_of(i));
    others.add(row_of(i));
  }
  pages.close();
  others.close();
  EXPECT_EQ(log->end().left_out, 0u);
  const std::string text = content(path);
  EXPECT_EQ(static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')), 1 + 2 * kRows);
}

TEST_F(RequestLogTest, a_full_disk_is_a_problem) {
  const std::string path = folder_.path() + "/full.csv";
  ASSERT_EQ(::symlink("/dev/full", path.c_str()), 0);
  auto log = open(path);
  vuser::RequestPages& pages = log->new_pages();
  pages.add(row_of(0));
  pages.close();
  EXPECT_NE(log->end().problem.find("No space left"), std::string::npos) << log->end().problem;
}

TEST_F(RequestLogTest, a_file_of_another_kind_is_refused) {
  const auto log = RequestLog::open("log.txt", plan_);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message, "--request-log 'log.txt': the name of the file must end with .csv or .jsonl");
}

// Without a writer, the pages fill.
TEST(RequestPages, rows_that_find_no_page_are_left_out_and_counted) {
  std::atomic<uint32_t> ready{0};
  vuser::RequestPages pages(ready);
  constexpr uint64_t kRoom = vuser::RequestPages::kRows * vuser::RequestPages::kPages;
  for (uint64_t i = 0; i < kRoom + 3; ++i) pages.add(row_of(i));
  EXPECT_EQ(pages.left_out(), 3u);
  EXPECT_FALSE(pages.flush());
  vuser::RequestPages::Page* first = pages.next_full();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->count, vuser::RequestPages::kRows);
  EXPECT_EQ(first->rows[5].iteration, 5u);
  pages.release(first);
  pages.add(row_of(kRoom));
  EXPECT_EQ(pages.left_out(), 3u);
}

}  // namespace
}  // namespace bellwether::node
