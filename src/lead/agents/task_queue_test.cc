#include "lead/agents/task_queue.h"

#include <gmock/gmock.h>

#include "core/base/encoding.h"

namespace bellwether::lead {
namespace {

using election::Epoch;

struct TaskQueueTest : testing::Test {
  TaskQueue queue;
};

TEST_F(TaskQueueTest, tasks_are_handed_out_in_order_and_the_cursor_passes_what_is_done) {
  EXPECT_EQ(*queue.add("a", "one"), 1u);
  EXPECT_EQ(*queue.add("b", "two"), 2u);
  EXPECT_EQ(*queue.add("a", "other"), 1u) << "adding it again adds nothing";
  ASSERT_TRUE(queue.take_over(Epoch(3)));
  const auto first = queue.hand_out("x", Epoch(3));
  const auto second = queue.hand_out("y", Epoch(3));
  ASSERT_TRUE(first && *first && second && *second);
  EXPECT_EQ((*first)->number, 1u);
  EXPECT_FALSE(queue.hand_out("z", Epoch(3))->has_value());
  EXPECT_TRUE(queue.finish(**second));
  EXPECT_EQ(queue.cursor(), 1u) << "the first is not done";
  EXPECT_TRUE(queue.finish(**first));
  EXPECT_EQ(queue.cursor(), 3u);
  EXPECT_EQ(*queue.add("b", "two"), 2u) << "names are remembered after the end";
  EXPECT_EQ(*queue.add("c", ""), 3u);
}

TEST_F(TaskQueueTest, a_new_leader_makes_running_tasks_wait_again_and_their_old_results_come_too_late) {
  ASSERT_TRUE(queue.add("a", ""));
  ASSERT_TRUE(queue.take_over(Epoch(3)));
  const Grant old = **queue.hand_out("x", Epoch(3));
  EXPECT_EQ(*queue.take_over(Epoch(4)), 1u);
  EXPECT_EQ(queue.finish(old).error().code, Errc::kRefused);
  const Grant again = **queue.hand_out("x", Epoch(4));
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(queue.finish(old).error().code, Errc::kRefused) << "the same agent, an older epoch";
  EXPECT_TRUE(queue.finish(again));
  EXPECT_EQ(queue.finish(again).error().code, Errc::kExists);
  EXPECT_EQ(queue.finish(old).error().code, Errc::kRefused);
}

TEST_F(TaskQueueTest, a_deposed_leader_can_do_nothing) {
  ASSERT_TRUE(queue.add("a", ""));
  EXPECT_EQ(queue.hand_out("x", Epoch(0)).error().code, Errc::kRefused) << "nobody took over";
  ASSERT_TRUE(queue.take_over(Epoch(4)));
  EXPECT_EQ(queue.take_over(Epoch(3)).error().code, Errc::kRefused);
  EXPECT_EQ(*queue.take_over(Epoch(4)), 0u) << "the same term again changes nothing";
  EXPECT_EQ(queue.take_over(Epoch(4), "another").error().code, Errc::kRefused) << "two leases, the same epoch";
  EXPECT_EQ(queue.hand_out("x", Epoch(3)).error().code, Errc::kRefused);
  EXPECT_EQ(queue.hand_out("x", Epoch(5)).error().code, Errc::kRefused) << "take over first";
  EXPECT_EQ(queue.hand_back({"x"}, Epoch(3)).error().code, Errc::kRefused);
}

TEST_F(TaskQueueTest, the_tasks_of_stale_agents_are_handed_back) {
  ASSERT_TRUE(queue.add("a", "") && queue.add("b", ""));
  ASSERT_TRUE(queue.take_over(Epoch(1)));
  const Grant stale = **queue.hand_out("x", Epoch(1));
  ASSERT_TRUE(queue.hand_out("y", Epoch(1)));
  EXPECT_EQ(*queue.hand_back({"y", "z"}, Epoch(1)), 1u);
  const Grant next = **queue.hand_out("y", Epoch(1));
  EXPECT_EQ(next.number, stale.number);
  EXPECT_EQ(queue.finish(stale).error().code, Errc::kRefused);
  EXPECT_TRUE(queue.finish(next));
}

TEST_F(TaskQueueTest, what_it_writes_it_reads_and_what_is_torn_is_refused) {
  ASSERT_TRUE(queue.add("a", "p\"1") && queue.add("b", "") && queue.add("c", ""));
  ASSERT_TRUE(queue.take_over(Epoch(2), "boss"));
  const Grant grant = **queue.hand_out("x", Epoch(2));
  ASSERT_TRUE(queue.hand_out("y", Epoch(2)));
  ASSERT_TRUE(queue.finish(grant));
  const std::string text = queue.to_json();
  const auto read = TaskQueue::parse(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->tasks(), queue.tasks());
  EXPECT_EQ(read->past(), queue.past());
  EXPECT_EQ(read->to_json(), text);
  EXPECT_EQ(read->fence(), Epoch(2));
  EXPECT_EQ(read->leader(), "boss");
  EXPECT_EQ(read->cursor(), 2u);
  for (std::size_t cut = 0; cut + 1 < text.size(); ++cut) EXPECT_FALSE(TaskQueue::parse(text.substr(0, cut))) << cut;
}

// The state of every task that the queue knows, in the order of their numbers.
std::string states(const TaskQueue& queue) {
  std::string out;
  for (uint64_t number = 1; number < queue.next(); ++number) {
    const QueuedTask* task = queue.find(number);
    out += (out.empty() ? "" : " ") + std::string(task == nullptr ? "?" : to_string(task->state));
  }
  return out;
}

TEST_F(TaskQueueTest, a_task_that_fails_waits_again_until_it_was_tried_so_often) {
  ASSERT_TRUE(queue.add("a", "") && queue.add("b", ""));
  ASSERT_TRUE(queue.take_over(Epoch(1)));
  const Grant first = **queue.hand_out("x", Epoch(1));
  EXPECT_EQ(*queue.fail_attempt(first, "exit code 3", 2), QueuedTask::State::kWaiting);
  EXPECT_EQ(queue.find(1)->outcome, "exit code 3");
  EXPECT_EQ(queue.finish(first).error().code, Errc::kRefused) << "this attempt is over";
  EXPECT_EQ((*queue.hand_out("x", Epoch(1), {.resting = {1}}))->number, 2u) << "it rests, the next goes first";
  const Grant second = **queue.hand_out("x", Epoch(1));
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_EQ(*queue.fail_attempt(second, "exit code 4", 2), QueuedTask::State::kFailed);
  EXPECT_EQ(states(queue), "failed running");
  EXPECT_EQ(queue.cursor(), 2u) << "the queue goes on";
  EXPECT_FALSE(queue.hand_out("x", Epoch(1))->has_value());
}

TEST_F(TaskQueueTest, a_task_that_takes_its_leader_with_it_each_time_is_put_aside_too) {
  ASSERT_TRUE(queue.add("a", "") && queue.add("b", ""));
  const HandOutRules rules{.resting = {}, .tries_most = 2};
  for (uint64_t epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_TRUE(queue.take_over(Epoch(epoch)));
    EXPECT_EQ((*queue.hand_out("x", Epoch(epoch), rules))->number, 1u);
  }
  ASSERT_TRUE(queue.take_over(Epoch(3)));
  EXPECT_TRUE(queue.has_tried_too_often(2));
  EXPECT_EQ(queue.put_aside(Epoch(2), 2).error().code, Errc::kRefused);
  const auto aside = queue.put_aside(Epoch(3), 2);
  ASSERT_TRUE(aside && aside->size() == 1);
  EXPECT_EQ(aside->front().name, "a");
  EXPECT_FALSE(queue.has_tried_too_often(2)) << "it is told once";
  EXPECT_EQ((*queue.hand_out("x", Epoch(3), rules))->number, 2u);
  EXPECT_EQ(states(queue), "failed running");
}

TEST_F(TaskQueueTest, a_task_of_which_its_agent_never_heard_is_handed_out_to_it_again) {
  ASSERT_TRUE(queue.add("a", "") && queue.add("b", "") && queue.add("c", ""));
  ASSERT_TRUE(queue.take_over(Epoch(1)));
  HandOutRules rules{.resting = {1}, .tries_most = 1, .in_hands = std::vector<uint64_t>()};
  const Grant unheard = **queue.hand_out("x", Epoch(1), rules);
  EXPECT_EQ(unheard.number, 2u);
  EXPECT_TRUE(queue.has_due("x", Epoch(1), rules));
  const Grant again = **queue.hand_out("x", Epoch(1), rules);
  EXPECT_EQ(again.number, 2u);
  EXPECT_EQ(queue.find(2)->tries, 1u) << "it was not tried in between";
  EXPECT_EQ(queue.finish(unheard).error().code, Errc::kRefused) << "should it have been begun all the same";
  rules.in_hands = {2};
  EXPECT_EQ((*queue.hand_out("x", Epoch(1), rules))->number, 3u);
  EXPECT_FALSE(queue.has_due("y", Epoch(1), {.resting = {1}, .in_hands = std::vector<uint64_t>()})) << "not y's";
  EXPECT_TRUE(queue.finish(again));
}

TEST(TaskQueue, a_queue_that_was_begun_anew_does_not_take_the_results_of_the_one_before) {
  TaskQueue before;
  TaskQueue anew;
  for (TaskQueue* queue : {&before, &anew}) {
    ASSERT_TRUE(queue->add(queue == &before ? "old" : "new", ""));
    ASSERT_TRUE(queue->take_over(Epoch(1)));
  }
  const Grant old = **before.hand_out("x", Epoch(1));
  const Grant fresh = **anew.hand_out("x", Epoch(1));
  ASSERT_EQ(old.attempt, fresh.attempt);
  EXPECT_EQ(anew.finish(old).error().code, Errc::kRefused);
  EXPECT_EQ(anew.give_back(old).error().code, Errc::kRefused);
  EXPECT_TRUE(anew.finish(fresh));
}

TEST_F(TaskQueueTest, what_is_given_back_in_good_order_does_not_count_as_tried) {
  ASSERT_TRUE(queue.add("a", ""));
  ASSERT_TRUE(queue.take_over(Epoch(1)));
  for (int i = 0; i < 5; ++i) {
    const auto grant = queue.hand_out("x", Epoch(1), {.resting = {}, .tries_most = 1});
    ASSERT_TRUE(*grant) << i;
    EXPECT_TRUE(queue.give_back(**grant));
    EXPECT_EQ(queue.give_back(**grant).error().code, Errc::kRefused);
  }
  EXPECT_EQ(queue.find(1)->attempt, 5u) << "so that no two grants are the same";
}

TEST_F(TaskQueueTest, an_operator_retries_and_drops_what_nobody_works_on) {
  ASSERT_TRUE(queue.add("a", "one") && queue.add("b", "two") && queue.add("c", "three"));
  ASSERT_TRUE(queue.take_over(Epoch(1)));
  ASSERT_TRUE(queue.fail_attempt(**queue.hand_out("x", Epoch(1)), "bad", 1));
  ASSERT_TRUE(queue.hand_out("x", Epoch(1)));
  EXPECT_EQ(states(queue), "failed running waiting");
  EXPECT_EQ(queue.drop(2).error().code, Errc::kRefused);
  EXPECT_EQ(queue.retry(2).error().code, Errc::kRefused);
  EXPECT_EQ(queue.retry(4).error().code, Errc::kNotFound);
  EXPECT_TRUE(queue.retry(1));
  EXPECT_EQ(queue.cursor(), 1u);
  EXPECT_TRUE(queue.drop(3));
  EXPECT_EQ(states(queue), "waiting running dropped");
  EXPECT_EQ(*queue.add("c", ""), 3u) << "its name is remembered";
  const auto again = queue.hand_out("x", Epoch(1), {.resting = {}, .tries_most = 1});
  ASSERT_TRUE(*again);
  EXPECT_EQ((*again)->payload, "one");
  EXPECT_EQ((*again)->attempt, 2u);
  EXPECT_EQ(TaskQueue::parse(queue.to_json())->to_json(), queue.to_json());
}

TEST_F(TaskQueueTest, a_halted_queue_says_why_and_gives_and_takes_nothing) {
  ASSERT_TRUE(queue.add("a", ""));
  ASSERT_TRUE(queue.take_over(Epoch(1)));
  queue.halt("it was torn");
  auto read = TaskQueue::parse(queue.to_json());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->halted(), "it was torn");
  EXPECT_EQ(read->add("b", "").error().message, "it was torn");
  EXPECT_FALSE(read->has_due("x", Epoch(1), {}));
  EXPECT_FALSE(read->hand_out("x", Epoch(1))->has_value());
  read->resume();
  EXPECT_TRUE(read->has_due("x", Epoch(1), {}));
  EXPECT_FALSE(read->has_due("x", Epoch(1), {.resting = {1}}));
  EXPECT_TRUE(read->hand_out("x", Epoch(1))->has_value());
}

TEST_F(TaskQueueTest, it_is_bounded_and_says_what_to_do_about_it) {
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string(201, 'x'), std::string("\xff")}) {
    EXPECT_EQ(queue.add(name, "").error().code, Errc::kInvalid);
  }
  for (const std::string& payload :
       {std::string(TaskQueue::kMaxPayloadBytes + 1, 'x'), std::string("\xff"), std::string("\0", 1)}) {
    EXPECT_EQ(queue.add("a", payload).error().code, Errc::kInvalid);
  }
  const std::string large(TaskQueue::kMaxPayloadBytes, 'x');
  const std::size_t fit = TaskQueue::kMaxPayloadsBytes / large.size();
  for (std::size_t i = 0; i < fit; ++i) ASSERT_TRUE(queue.add(std::to_string(i), large));
  EXPECT_THAT(queue.add("more", "x").error().message, testing::HasSubstr("drop or retry"));
  EXPECT_TRUE(queue.add("empty", ""));
  ASSERT_TRUE(queue.drop(1));
  EXPECT_TRUE(queue.add("more", "x")) << "there is room again";
}

TEST(TaskQueue, text_that_is_not_utf8_is_no_queue_and_whatever_it_is_halted_with_can_be_written_down) {
  const auto broken = TaskQueue::parse("{\"format\": \"\xff\"}");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::kProtocol);
  EXPECT_TRUE(is_utf8(broken.error().message)) << "it goes into messages and files";
  TaskQueue queue;
  queue.halt("\xff\n" + std::string(1 << 20, '\xc3'));
  EXPECT_TRUE(is_utf8(queue.halted()));
  EXPECT_EQ(queue.halted().size(), TaskQueue::kMaxHaltedBytes);
  EXPECT_EQ(TaskQueue::parse(queue.to_json())->halted(), queue.halted());
}

// A file that a hand has changed may be well-formed and wrong.
TEST_F(TaskQueueTest, a_queue_that_contradicts_itself_is_refused) {
  ASSERT_TRUE(queue.add("a", "") && queue.add("b", ""));
  const std::string text = queue.to_json();
  for (const auto& [from, to] : {std::pair{"\"cursor\": 1", "\"cursor\": 2"},
                                 {"\"next\": 3", "\"next\": 2"},
                                 {"\"number\": 2", "\"number\": 1"},
                                 {"\"waiting\"", "\"done\""},
                                 {"\"waiting\"", "\"lost\""}}) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, std::string(from).size(), to);
    EXPECT_FALSE(TaskQueue::parse(changed)) << to;
  }
}

}  // namespace
}  // namespace bellwether::lead
