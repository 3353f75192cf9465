#include "load/plan/collection.h"

namespace bellwether::plan {

bool Collection::add(uint32_t vu, Duration at, std::string_view text, uint32_t by) {
  if (!takes(vu)) return false;
  if (text.size() > kMostContextText) return cut_at(vu);
  const auto [place, is_new] = items_.try_emplace(vu);
  Item& item = place->second;
  if (!is_new) {
    if (at < item.at || (at == item.at && (by < item.by || (by == item.by && text == item.text)))) return false;
    bytes_ -= item.text.size();
  }
  item.at = at;
  item.by = by;
  item.text.assign(text);
  bytes_ += text.size();
  while (items_.size() > kMostListValues || bytes_ > kMostListText) cut_at(items_.rbegin()->first);
  return true;
}

bool Collection::add(const Provided& one, uint32_t by) {
  return one.too_large ? cut_at(one.vu) : add(one.vu, one.at, one.text, by);
}

bool Collection::cut_at(uint32_t vu) {
  if (!takes(vu)) return false;
  cut_ = vu;
  const auto first = items_.lower_bound(vu);
  for (auto at = first; at != items_.end(); ++at) bytes_ -= at->second.text.size();
  items_.erase(first, items_.end());
  return true;
}

std::vector<Provided> Collection::provided(uint16_t provide) const {
  std::vector<Provided> out;
  out.reserve(items_.size() + 1);
  for (const auto& [vu, item] : items_) out.push_back({provide, vu, item.at, item.text, false, true});
  if (cut_) out.push_back({provide, *cut_, {}, {}, true, true});
  return out;
}

std::optional<Given> Collection::given(uint16_t use) const {
  if (items_.empty()) return std::nullopt;
  Given out{use, {}, {}};
  out.list.reserve(items_.size());
  for (const auto& [vu, item] : items_) out.list.push_back(item.text);
  return out;
}

std::string cut_text(std::string_view name, std::string_view workflow, const Collection& list) {
  return "'" + std::string(name) + "' of workflow '" + std::string(workflow) + "' has the values of its first " +
         std::to_string(list.items().size()) + " virtual users: from virtual user " + std::to_string(*list.cut()) +
         " on they do not fit into " + std::to_string(kMostListValues) + " values and " +
         std::to_string(kMostListText >> 10) + " KiB";
}

}  // namespace bellwether::plan
