#include "load/results/names.h"

#include <algorithm>
#include <string>

#include "core/base/bytes.h"

namespace bellwether::results {
namespace {

constexpr std::string_view kLast = "last";

}  // namespace

Result<std::size_t> pick(std::string_view name, const std::vector<std::string_view>& ids) {
  const std::string said = "'" + std::string(name) + "'";
  if (ids.empty()) return fail(Errc::kNotFound, "there is no run " + said + ": none is stored");
  if (name.starts_with(kLast)) {
    std::size_t back = 0;
    const std::string_view rest = name.substr(kLast.size());
    const auto number = parse_u64(rest.empty() ? rest : rest.substr(1));
    if (!rest.empty() && (rest.front() != '~' || !number)) {
      return fail(Errc::kInvalid, "there is no run " + said + "; write last, last~1, last~2, …");
    }
    if (number) back = *number;
    if (back < ids.size()) return back;
    return fail(Errc::kNotFound, "there is no run " + said + ": " + std::to_string(ids.size()) + " are stored");
  }
  const auto exact = std::find(ids.begin(), ids.end(), name);
  if (exact != ids.end()) return static_cast<std::size_t>(exact - ids.begin());
  std::vector<std::size_t> begin_so;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!name.empty() && ids[i].starts_with(name)) begin_so.push_back(i);
  }
  if (begin_so.size() == 1) return begin_so.front();
  if (begin_so.size() > 1) {
    return fail(Errc::kInvalid, said + " is the beginning of " + std::to_string(begin_so.size()) +
                                    " runs: " + std::string(ids[begin_so[0]]) + ", " + std::string(ids[begin_so[1]]) +
                                    (begin_so.size() > 2 ? ", …" : "") + "; write more of it");
  }
  std::vector<std::string_view> candidates = ids;
  candidates.push_back(kLast);
  const std::string_view near = nearest(name, candidates);
  return fail(Errc::kNotFound, "there is no run " + said +
                                   (near.empty() ? "; `bellwether results list` shows them"
                                                 : "; did you mean '" + std::string(near) + "'?"));
}

}  // namespace bellwether::results
