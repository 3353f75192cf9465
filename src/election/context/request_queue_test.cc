#include "election/context/request_queue.h"

#include <gmock/gmock.h>

namespace bellwether::context_lead {
namespace {

using testing::HasSubstr;
using State = RequestQueue::State;

Request request(uint64_t number, uint8_t priority = 0) {
  return {{1, number}, priority, {static_cast<int64_t>(number) * 1'000}, "payload"};
}

RequestQueue opened(uint64_t epoch = 1) {
  RequestQueue queue;
  queue.open(NodeId(1), Epoch(epoch));
  return queue;
}

// Of request `number`: begun, done, and known.
void live_through(RequestQueue& queue, uint64_t number) {
  queue.admit(request(number));
  const AttemptFence fence = queue.start({1, number});
  ASSERT_TRUE(queue.finish({1, number}, fence, Outcome::kCompleted, {}));
}

struct RequestQueueTest : testing::Test {
  RequestQueue queue = opened();
};

TEST_F(RequestQueueTest, urgent_ones_go_first_and_equals_in_their_order) {
  queue.admit(request(1));
  queue.admit(request(2, 7));
  queue.admit(request(3, 7));
  EXPECT_EQ(queue.next()->id, (RequestId{1, 2}));
  queue.start({1, 2});
  EXPECT_EQ(queue.next()->id, (RequestId{1, 3}));
  EXPECT_TRUE(queue.requeue({1, 2}, {Epoch(1), 1}, false));
  EXPECT_EQ(queue.next()->id, (RequestId{1, 2})) << "it has kept its place";
}

TEST_F(RequestQueueTest, only_the_attempt_that_runs_ends_a_request) {
  queue.admit(request(1));
  const AttemptFence first = queue.start({1, 1});
  queue.open(NodeId(2), Epoch(2));
  EXPECT_FALSE(queue.finish({1, 1}, first, Outcome::kCompleted, {}));
  const AttemptFence second = queue.start({1, 1});
  EXPECT_GT(second, first);
  EXPECT_FALSE(queue.finish({1, 1}, first, Outcome::kCompleted, {}));
  EXPECT_FALSE(queue.requeue({1, 1}, first, true));
  EXPECT_TRUE(queue.finish({1, 1}, second, Outcome::kCompleted, {}));
  EXPECT_FALSE(queue.finish({1, 1}, second, Outcome::kCompleted, {}));
  EXPECT_EQ(queue.completed(), 1u);
}

TEST_F(RequestQueueTest, an_attempt_under_the_same_epoch_has_another_fence_after_the_register_was_taken_again) {
  queue.admit(request(1));
  const AttemptFence first = queue.start({1, 1});
  queue.open(NodeId(1), Epoch(1));
  EXPECT_GT(queue.start({1, 1}), first);
  EXPECT_EQ(queue.terms(), 1u);
}

TEST_F(RequestQueueTest, what_is_settled_is_forgotten_and_never_taken_for_new) {
  for (uint64_t number = 1; number <= kMaxFinished; ++number) {
    live_through(queue, number);
    queue.mark_settled({1, number});
  }
  EXPECT_EQ(queue.state({1, 1}, {1'000}), State::kFinished);
  live_through(queue, kMaxFinished + 1);
  EXPECT_EQ(queue.state({1, 1}, {1'000}), State::kForgotten);
  EXPECT_EQ(queue.state({1, 2}, {2'000}), State::kFinished);
  EXPECT_EQ(queue.state({1, 9'999}, {1'001}), State::kUnknown);
}

TEST_F(RequestQueueTest, what_is_not_settled_is_kept_and_leaves_no_room_for_more) {
  for (uint64_t number = 1; number < kMaxFinished; ++number) live_through(queue, number);
  EXPECT_TRUE(queue.room_to_finish(0));
  EXPECT_FALSE(queue.room_to_finish(1));
  live_through(queue, kMaxFinished);
  EXPECT_FALSE(queue.room_to_finish(0));
  queue.mark_settled({1, 5});
  EXPECT_TRUE(queue.room_to_finish(0));
  live_through(queue, kMaxFinished + 1);
  EXPECT_EQ(queue.state({1, 1}, {1'000}), State::kFinished);
  EXPECT_EQ(queue.find_finished({1, 5}), nullptr);
}

RequestQueue full() {
  RequestQueue queue = opened(3);
  for (uint64_t number = 1; number <= kMaxFinished; ++number) {
    queue.admit(request(number));
    const AttemptFence fence = queue.start({1, number});
    queue.finish({1, number}, fence, Outcome::kFailed, std::string(200, 'r'));
  }
  for (uint64_t number = 1; number <= kMaxRequests; ++number) queue.admit(request(10'000 + number));
  queue.start({1, 10'001});
  return queue;
}

TEST(RequestQueue, a_full_queue_fits_into_a_register_and_comes_back) {
  const RequestQueue queue = full();
  const std::string bytes = queue.encode();
  EXPECT_LE(bytes.size(), kMaxQueueBytes);
  const auto back = RequestQueue::decode(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, queue);
  EXPECT_EQ(back->encode(), bytes);
}

TEST(RequestQueue, nothing_written_is_an_empty_queue) {
  ASSERT_TRUE(RequestQueue::decode(""));
  EXPECT_EQ(*RequestQueue::decode(""), RequestQueue());
}

TEST_F(RequestQueueTest, bytes_that_are_cut_short_or_too_long_are_refused) {
  queue.admit(request(1));
  live_through(queue, 2);
  const std::string bytes = queue.encode();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(RequestQueue::decode(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(RequestQueue::decode(bytes + 'x'));
  EXPECT_FALSE(RequestQueue::decode(bytes + std::string(kMaxQueueBytes, 'x')));
}

TEST(RequestQueue, a_newer_version_is_told_from_garbage) {
  std::string bytes = opened().encode();
  bytes[4] = 2;
  const auto read = RequestQueue::decode(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kUnsupported);
  EXPECT_THAT(read.error().message, HasSubstr("version 2"));
  bytes[0] = 'x';
  EXPECT_EQ(RequestQueue::decode(bytes).error().code, Errc::kInvalid);
}

TEST_F(RequestQueueTest, a_request_that_is_there_twice_or_runs_under_a_later_epoch_is_refused) {
  queue.admit(request(1));
  queue.admit(request(2));
  std::string twice = queue.encode();
  twice.replace(twice.find(std::string("\0\0\0\0\0\0\0\2", 8), 60), 8, std::string("\0\0\0\0\0\0\0\1", 8));
  EXPECT_THAT(RequestQueue::decode(twice).error().message, HasSubstr("twice"));
  queue.start({1, 1});
  std::string later = queue.encode();
  later[5 + 8 + 7] = 0;  // the epoch of the queue
  EXPECT_THAT(RequestQueue::decode(later).error().message, HasSubstr("an attempt without a leader"));
}

}  // namespace
}  // namespace bellwether::context_lead
