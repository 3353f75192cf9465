#include "load/results/stretches.h"

#include <optional>
#include <utility>

#include "load/results/shape.h"

namespace bellwether::results {

Result<plan::Plan> kept_plan(Database& database, const std::string& run) {
  Statement select(database, "SELECT shape FROM runs WHERE id = ?");
  BW_TRY(const auto found, select.text(run).row());
  return decode_shape(found ? select.bytes(0) : "");
}

Status put_stretch(Database& database, const std::string& run, const Stretch& stretch) {
  Statement insert(database, "INSERT INTO stretches(run, first, span, covered, window) VALUES(?, ?, ?, ?, ?)");
  insert.text(run).number(static_cast<int64_t>(stretch.first)).number(static_cast<int64_t>(stretch.span));
  return insert.number(stretch.covered.ns()).blob(stretch.window).done();
}

Status fold_stretches(Database& database, const std::string& run, const account::Shape& shape,
                      const metrics::Fold& fold) {
  Statement select(database,
                   "SELECT window, covered FROM stretches WHERE run = ? AND first >= ? AND first < ? ORDER BY first");
  select.text(run).number(static_cast<int64_t>(fold.first)).number(static_cast<int64_t>(fold.end));
  std::optional<metrics::Window> sum;
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) break;
    BW_TRY(auto one, account::decode_sum(select.bytes(0), shape));
    one.covered = Duration::nanos(select.integer(1));
    if (sum) {
      metrics::append(*sum, one);
    } else {
      sum = std::move(one);
    }
  }
  if (!sum) return {};
  Statement remove(database, "DELETE FROM stretches WHERE run = ? AND first >= ? AND first < ?");
  remove.text(run).number(static_cast<int64_t>(fold.first)).number(static_cast<int64_t>(fold.end));
  BW_RETURN_IF_ERROR(remove.done());
  const Duration covered = std::exchange(sum->covered, Duration::zero());
  return put_stretch(database, run, {fold.first, fold.end - fold.first, covered, account::encode_window(*sum)});
}

}  // namespace bellwether::results
