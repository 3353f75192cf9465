#include "jobs/dispatch/job_layers.h"

#include <algorithm>

#include "core/base/probe.h"
#include "core/base/units.h"

namespace bellwether::dispatch {

// The assignments of one workflow send similar texts: each text is kept once.
void JobLayers::hear_notes(Instant now, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::size_t count = 0;
    bool told = false;
    for (const JobEvent& one : record_.events) {
      if (one.kind != "script") continue;
      ++count;
      told |= one.detail == note.substr(0, kMaxTextBytes);
    }
    if (count < kMaxNotes && !told) book_.add_event(now, "script", note);
  }
}

// They come with the end of an assignment, by the clock of its workflow.
void JobLayers::hear_findings(Instant now, const AssignmentRecord& assignment,
                              const std::vector<plan::Finding>& findings) {
  const auto began = Duration::seconds(static_cast<int64_t>(record_.workflows[assignment.workflow].base_second));
  std::vector<plan::Finding> found = findings;
  for (plan::Finding& one : found) {
    one.worker = assignment.worker;
    one.begin += began;
    one.end += began;
    if (plan::is_possible(one)) plan::add(record_.findings, one);
  }
  for (const std::string& text : plan::summed_up(found)) {
    const auto told = std::count_if(record_.events.begin(), record_.events.end(),
                                    [](const JobEvent& one) { return one.kind == "generator_saturated"; });
    if (static_cast<std::size_t>(told) < kMaxNotes) book_.add_event(now, "generator_saturated", text);
  }
}

void JobLayers::hear_values(Instant now, const AssignmentRecord& assignment,
                            const std::vector<plan::Provided>& provided, JobEffects& out) {
  const WorkflowSpec& spec = spec_[assignment.workflow];
  bool changed = false;
  for (const plan::Provided& one : provided) {
    const bool is_list = std::find(spec.lists.begin(), spec.lists.end(), one.provide) != spec.lists.end();
    if (one.provide >= spec.provides.size() || one.listed != is_list) continue;  // its worker makes that up
    if (one.listed || !one.too_large) {
      changed |= context_.merge(assignment.workflow, assignment.id.value(), one);
    } else if (!assignment.end) {
      const plan::Remark remark = plan::remark_on_too_large(spec, one.provide);
      book_.add_event(now, remark.kind, remark.text);
    }
  }
  if (changed) out.push_back(job_effect::KeepContext{context_.version});
}

// Workflows with values for others that have not begun; a dead owner may not have made all of them durable.
bool JobLayers::is_awaited(uint16_t workflow) const {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(record_.workflows[w].state) || record_.workflows[w].begun) continue;
    const auto& uses = spec_[w].uses;
    if (std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return use.from == workflow; })) return true;
  }
  return false;
}

// Whether a quorum knows what has ended, so that the next ones may begin with it.
bool JobLayers::pass_border(Instant now, JobEffects& out) {
  const auto& all = record_.workflows;
  const auto ended = static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [](const WorkflowRecord& one) { return is_final(one.state); }));
  if (ended == record_.context_version) return true;
  // Another owner may have been here before, without a quorum.
  if (!border_since_) border_since_ = book_.adopted && book_.zero ? book_.end_of_last() : now;
  if (now - *border_since_ >= rules_.layer_sync_limit) {
    BW_PROBE("dispatch: a layer does not begin for want of a quorum");
    const std::string why = fmt::format("no quorum of managers for {} after the workflows that it depends on had ended",
                                        format_duration(rules_.layer_sync_limit));
    book_.add_event(now, "layer_sync_failed", why);
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      if (is_final(all[w].state)) continue;
      if (!spec_[w].is_teardown && !all[w].begun) {
        book_.add_loss(w, "never started", std::max(all[w].parts, 1U), book_.elapsed(*border_since_),
                       book_.elapsed(now));
      }
      book_.become(w, all[w].state == WorkflowState::kPending ? WorkflowState::kSkipped : WorkflowState::kFailed, why,
                   out);
    }
    return false;
  }
  if (context_kept_ < context_.version) return false;
  border_since_.reset();
  record_.context_version = ended;
  book_.changed = true;
  return true;
}

}  // namespace bellwether::dispatch
