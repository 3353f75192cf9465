// A list of what the virtual users of a workflow provided, a value each: `collect: all`. It is put together of what
// many parts of the workflow tell, in any order and any number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/plan/context.h"

namespace bellwether::plan {

class Collection {
 public:
  struct Item {
    Duration at;      // of the workflow's clock, when the iteration ended that made it
    uint32_t by = 0;  // who told it: of one user and moment, the higher one's stays
    std::string text;
    bool operator==(const Item&) const = default;
  };

  // False: the value of this user can change nothing any more.
  bool takes(uint32_t vu) const { return !cut_ || vu < *cut_; }
  // Of one user the later value stays. When there are more than kMostListValues, or all together are longer than
  // kMostListText, those of the highest users go. A list that was cut is so for good: it never has a gap. False:
  // nothing has changed.
  bool add(uint32_t vu, Duration at, std::string_view text, uint32_t by = 0);
  // The same for what a part told, which may be that its own list was cut.
  bool add(const Provided& one, uint32_t by = 0);

  // By number of the virtual user.
  const std::map<uint32_t, Item>& items() const { return items_; }
  // The lowest virtual user whose value was left out, with all that come after it.
  std::optional<uint32_t> cut() const { return cut_; }
  // What add() takes to make the same list.
  std::vector<Provided> provided(uint16_t provide) const;
  // As a workflow gets it that uses it; nothing of an empty one.
  std::optional<Given> given(uint16_t use) const;

  bool operator==(const Collection&) const = default;

 private:
  bool cut_at(uint32_t vu);

  std::map<uint32_t, Item> items_;
  std::size_t bytes_ = 0;  // of all texts
  std::optional<uint32_t> cut_;
};

// What is told of a list that was cut, when it is used.
std::string cut_text(std::string_view name, std::string_view workflow, const Collection& list);

}  // namespace bellwether::plan
