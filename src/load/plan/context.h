// Values that workflows provide for workflows that depend on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/plan/plan.h"

namespace bellwether::plan {

// Of one workflow. A longer value, or one with which all together are longer, does not get there: this is for findings
// of a workflow, not for its data.
inline constexpr std::size_t kMaxContextText = std::size_t{64} << 10;
inline constexpr std::size_t kMaxProvided = 100;  // values of one workflow for others
// Lists of all users' values, in a scenario: with all other values of one workflow, they fit into the order of an
// assignment.
inline constexpr std::size_t kMaxLists = 8;
inline constexpr std::size_t kMaxListValues = 10'000;
inline constexpr std::size_t kMaxListText = std::size_t{256} << 10;
// The most values in the report of an assignment: an omitted value ends each list.
inline constexpr std::size_t kMaxTold = kMaxProvided + kMaxLists * (kMaxListValues + 1);

// A value of one or several parts of a workflow.
struct Provided {
  uint16_t provide = 0;    // index into the workflow's provides
  uint32_t vu = 1;         // number of the virtual user that made it
  Duration at;             // of the workflow's clock, at the end of that iteration
  std::string text;        // empty when it is too long
  bool too_large = false;  // it was longer than kMaxContextText, or would have made all of them longer
  bool listed = false;     // one of a list; when too large, those of later users are missing, too
  bool operator==(const Provided&) const = default;
};
// Which of two values of one name stays, independent of the order of their arrival: that of the lowest virtual user,
// and of one user the later.
inline bool wins(const Provided& one, const Provided& over) {
  return one.vu != over.vu ? one.vu < over.vu : one.at > over.at;
}
// Merges the values of two parts, but not lists. No virtual user is in both.
void merge(std::vector<Provided>& into, const Provided& one);
// Marks as too large, and empties, the values beyond kMaxContextText together, without lists.
void cut_to_size(std::vector<Provided>& values);

// A value for a workflow that is about to begin.
struct Given {
  uint16_t use = 0;  // index into its uses
  std::string text;
  std::vector<std::string> list = {};  // instead of a text, by number of the virtual user
  bool operator==(const Given&) const = default;
};
// The plan with these values in their places, each escaped as its place needs it. A missing value becomes the fallback
// of the use; without one the place stays empty, and a request that mentions it cannot be sent.
Plan with_given(Plan plan, uint16_t workflow, const std::vector<Given>& given);

// A list with one value of each virtual user of a workflow: `collect: all`. Many parts of the workflow report their
// values, in any order and any number of times.
class Collection {
 public:
  struct Item {
    Duration at;      // of the workflow's clock, at the end of that iteration
    uint32_t by = 0;  // its sender: of one user and moment, the higher one's stays
    std::string text;
    bool operator==(const Item&) const = default;
  };

  // False: this user's value can change nothing any more.
  bool takes(uint32_t vu) const { return !cut_ || vu < *cut_; }
  // Of one user the later value stays. Beyond kMaxListValues, or kMaxListText of all together, the values of the
  // highest users go. A cut is final: the list never has a gap. False: nothing has changed.
  bool add(uint32_t vu, Duration at, std::string_view text, uint32_t by = 0);
  // The same for a part's report, which may say that its own list was cut.
  bool add(const Provided& one, uint32_t by = 0);

  // By number of the virtual user.
  const std::map<uint32_t, Item>& items() const { return items_; }
  // The lowest virtual user whose value was left out; all later users are out too.
  std::optional<uint32_t> cut() const { return cut_; }
  // The input of add() for the same list.
  std::vector<Provided> provided(uint16_t provide) const;
  // The value for the workflow that uses it; empty for an empty list.
  std::optional<Given> given(uint16_t use) const;

  bool operator==(const Collection&) const = default;

 private:
  bool cut_at(uint32_t vu);

  std::map<uint32_t, Item> items_;
  std::size_t bytes_ = 0;  // of all texts
  std::optional<uint32_t> cut_;
};

// The warning at the use of a list that was cut.
std::string cut_text(std::string_view name, std::string_view workflow, const Collection& list);

}  // namespace bellwether::plan
