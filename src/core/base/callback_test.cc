#include "core/base/callback.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <type_traits>

namespace bellwether {
namespace {

struct Counter {
  void add(int n) { sum += n; }
  int read() const { return sum; }
  int sum = 0;
};

static_assert(std::is_trivially_copyable_v<Callback<void(int)>>);
static_assert(sizeof(Callback<void(int)>) == 2 * sizeof(void*));
static_assert(!std::is_constructible_v<Callback<void(int)>, void (&)(int)>, "functions are no objects");

TEST(Callback, calls_a_method_of_an_object_also_of_one_that_is_const) {
  Counter counter;
  const auto add = Callback<void(int)>::to<&Counter::add>(counter);
  const Callback<void(int)> copy = add;
  add(2);
  copy(3);
  const Counter& seen = counter;
  const Callback<int()> read = callback_to<&Counter::read>(seen);
  EXPECT_EQ(read(), 5);
}

TEST(Callback, calls_a_lambda_and_keeps_its_state_there) {
  int calls = 0;
  auto twice = [&calls, last = 0](int n) mutable {
    ++calls;
    return last += 2 * n;
  };
  const Callback<int(int)> callback = twice;
  EXPECT_EQ(callback(1), 2);
  EXPECT_EQ(callback(2), 6);
  EXPECT_EQ(calls, 2);
  static_assert(!std::is_constructible_v<Callback<int(int)>, decltype(twice)>, "a temporary would be gone");
}

TEST(Callback, hands_arguments_and_results_on_without_copies) {
  std::string text = "a";
  auto append = [](std::string& to, std::unique_ptr<std::string> more) {
    to += *more;
    return more;
  };
  const Callback<std::unique_ptr<std::string>(std::string&, std::unique_ptr<std::string>)> callback = append;
  EXPECT_EQ(*callback(text, std::make_unique<std::string>("b")), "b");
  EXPECT_EQ(text, "ab");
}

TEST(Callback, one_that_is_not_set_says_so_and_is_not_called) {
  const Callback<void()> none;
  EXPECT_FALSE(none);
  EXPECT_DEATH(none(), "a callback is set when it is called");
}

}  // namespace
}  // namespace bellwether
