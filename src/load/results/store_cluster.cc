// Runs that a cluster makes: the store follows what a client hears of them.

#include <string_view>

#include "core/runtime/epoll/processes.h"
#include "load/aggregate/totals.h"
#include "load/codec/window_codec.h"
#include "load/results/database.h"
#include "load/results/recorder.h"
#include "load/results/shape.h"
#include "load/results/store.h"
#include "load/results/stretches.h"

namespace bellwether::results {
namespace {

// A store that has never seen a run on a cluster lacks it, and needs no other format for it: who does not know the
// table leaves it alone.
constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS clusters(run TEXT PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,"
    " name TEXT NOT NULL, workers TEXT NOT NULL) STRICT";

// As many names as fit.
std::string_view whole_names(std::string_view names) {
  if (names.size() <= kMostWorkersBytes) return names;
  const std::size_t end = names.rfind(' ', kMostWorkersBytes);
  return names.substr(0, end == std::string_view::npos ? 0 : end);
}

// Only what adds up, so that it can be compared: the most users at once of two stretches is not that of the run.
std::string sums_of(metrics::Window& window) {
  window.second = 0;
  window.covered = Duration::zero();
  for (metrics::WorkflowWindow& one : window.workflows) one.vus_active = one.vus_allocated = 0;
  return account::encode_window(window);
}

// Whether what is kept until `whole` ends is the same as that.
Result<bool> is_kept(Database& database, const std::string& id, const account::Shape& shape, const Stretch& whole) {
  BW_TRY(auto want, account::decode_sum(whole.window, shape));
  metrics::Window kept(shape);
  Statement select(database, "SELECT first, span, window FROM stretches WHERE run = ? AND first < ? ORDER BY first");
  select.text(id).number(static_cast<int64_t>(whole.span));
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) break;
    if (static_cast<uint64_t>(select.integer(0)) + static_cast<uint64_t>(select.integer(1)) > whole.span) return false;
    BW_TRY(const auto one, account::decode_sum(select.bytes(2), shape));
    metrics::append(kept, one);
  }
  return sums_of(kept) == sums_of(want);
}

}  // namespace

Status Store::note_cluster(const std::string& id, const Cluster& cluster) {
  BW_RETURN_IF_ERROR(database_->run(kTable));
  Statement put(*database_, "INSERT OR REPLACE INTO clusters(run, name, workers) VALUES(?, ?, ?)");
  return put.text(id).text(cluster.name).text(whole_names(cluster.workers)).done();
}

Result<std::map<std::string, Cluster>> Store::clusters_of_all() {
  std::map<std::string, Cluster> out;
  Statement exists(*database_, "SELECT 1 FROM sqlite_schema WHERE name = 'clusters'");
  BW_TRY(const auto there, exists.row());
  if (!there) return out;
  Statement select(*database_, "SELECT run, name, workers FROM clusters");
  for (;;) {
    BW_TRY(const auto more, select.row());
    if (!more) return out;
    out[select.bytes(0)] = {select.bytes(1), select.bytes(2)};
  }
}

Result<std::optional<uint64_t>> Store::resume(const std::string& id, const plan::Plan& plan) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  Statement select(*database_,
                   "SELECT pid, start_time, boot_id, pid_namespace, shape,"
                   " (SELECT ifnull(max(first + span), 0) FROM stretches WHERE run = runs.id)"
                   " FROM runs WHERE id = ? AND verdict IS NULL");
  BW_TRY(const auto found, select.text(id).row());
  if (!found || select.bytes(4) != encode_shape(plan)) return std::nullopt;
  if (is_alive(select.integer(0), static_cast<uint64_t>(select.integer(1)), select.bytes(2), select.bytes(3))) {
    return std::nullopt;
  }
  const auto end = static_cast<uint64_t>(select.integer(5));
  const runtime::ProcessIdentity self = runtime::identify_self();
  Statement update(*database_, "UPDATE runs SET pid = ?, start_time = ?, boot_id = ?, pid_namespace = ? WHERE id = ?");
  update.number(self.pid).number(static_cast<int64_t>(self.start_time)).text(self.boot_id).text(self.pid_namespace);
  BW_RETURN_IF_ERROR(update.text(id).done());
  BW_RETURN_IF_ERROR(transaction.commit());
  return end;
}

Status Store::amend(const std::string& id, uint64_t second, const metrics::Window& part, const Figures& so_far) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  BW_RETURN_IF_ERROR(set_figures(id, so_far));
  Stretch stretch{second, 1, Duration::seconds(1), {}};
  metrics::Window sum(part.shape());
  {
    Statement select(*database_,
                     "SELECT first, span, covered, window FROM stretches WHERE run = ? AND first <= ? AND"
                     " first + span > ?");
    select.text(id).number(static_cast<int64_t>(second)).number(static_cast<int64_t>(second));
    BW_TRY(const auto found, select.row());
    if (found) {
      stretch.first = static_cast<uint64_t>(select.integer(0));
      stretch.span = static_cast<uint64_t>(select.integer(1));
      stretch.covered = Duration::nanos(select.integer(2));
      BW_TRY(sum, account::decode_sum(select.bytes(3), part.shape()));
    }
  }
  metrics::append(sum, part);
  sum.second = stretch.first;
  sum.covered = Duration::zero();
  stretch.window = account::encode_window(sum);
  Statement remove(*database_, "DELETE FROM stretches WHERE run = ? AND first = ?");
  BW_RETURN_IF_ERROR(remove.text(id).number(static_cast<int64_t>(stretch.first)).done());
  BW_RETURN_IF_ERROR(put_stretch(*database_, id, stretch));
  return transaction.commit();
}

Result<bool> Store::settle(const std::string& id, const Stretch& whole, const Figures& so_far) {
  Transaction transaction(*database_);
  BW_RETURN_IF_ERROR(transaction.begin());
  BW_RETURN_IF_ERROR(set_figures(id, so_far));
  BW_TRY(const auto plan, kept_plan(*database_, id));
  const metrics::Shape shape = aggregate::shape_of(plan);
  const auto stays = is_kept(*database_, id, shape, whole);
  if (!stays) return stays;
  Statement remove(*database_, "DELETE FROM stretches WHERE run = ? AND first >= ?");
  remove.text(id).number(*stays ? static_cast<int64_t>(whole.span) : 0);
  BW_RETURN_IF_ERROR(remove.done());
  if (!*stays && whole.span > 0) {
    BW_RETURN_IF_ERROR(put_stretch(*database_, id, whole));
  }
  BW_RETURN_IF_ERROR(transaction.commit());
  return stays;
}

}  // namespace bellwether::results
