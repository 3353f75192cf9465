// The border between two layers: what workflows left for others is made safe before anybody begins with it, and nobody
// waits for that for ever.

#include <algorithm>
#include <utility>

#include "base/probe.h"
#include "dispatch/job.h"

namespace bellwether::dispatch {

using namespace job_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

void Job::restore(JobContext context) {
  context_ = std::move(context);
  context_kept_ = context_.version;
}

void Job::context_kept(Instant now, uint64_t version, JobEffects& out) {
  context_kept_ = std::max(context_kept_, version);
  advance(now, out);
}

// The shares of one workflow say much the same: each text is told once.
void Job::hear_notes(Instant now, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::size_t count = 0;
    bool told = false;
    for (const JobEvent& one : sheet_.events) {
      if (one.kind != "script") continue;
      ++count;
      told |= one.detail == note.substr(0, kMostTextBytes);
    }
    if (count < kMostNotes && !told) add_event(now, "script", note);
  }
}

// A share tells them with its end, by the clock of its workflow.
void Job::hear_findings(Instant now, const ShareSheet& share, const std::vector<plan::Finding>& findings) {
  const auto began = Duration::seconds(static_cast<int64_t>(sheet_.workflows[share.workflow].base_second));
  std::vector<plan::Finding> found = findings;
  for (plan::Finding& one : found) {
    one.worker = share.worker;
    one.begin += began;
    one.end += began;
    if (plan::is_possible(one)) plan::add(sheet_.findings, one);
  }
  for (const std::string& text : plan::summed_up(found)) {
    const auto told = std::count_if(sheet_.events.begin(), sheet_.events.end(),
                                    [](const JobEvent& one) { return one.kind == "generator_strained"; });
    if (static_cast<std::size_t>(told) < kMostNotes) add_event(now, "generator_strained", text);
  }
}

void Job::hear_values(Instant now, const ShareSheet& share, const std::vector<plan::Provided>& provided,
                      JobEffects& out) {
  const WorkflowSpec& spec = spec_[share.workflow];
  bool changed = false;
  for (const plan::Provided& one : provided) {
    const bool is_list = std::find(spec.lists.begin(), spec.lists.end(), one.provide) != spec.lists.end();
    if (one.provide >= spec.provides.size() || one.listed != is_list) continue;  // its worker makes that up
    if (one.listed || !one.too_large) {
      changed |= context_.merge(share.workflow, share.id, one);
    } else if (!share.end) {
      add_event(now, "value_too_large",
                "'" + spec.provides[one.provide] + "' of workflow '" + spec.name +
                    "' is too long for other workflows, and is left out");
    }
  }
  if (changed) out.push_back(KeepContext{context_.version});
}

// Those whose values somebody will need who has not begun; an owner who died may not have made all of them safe.
bool Job::is_awaited(uint16_t workflow) const {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (is_final(sheet_.workflows[w].state) || sheet_.workflows[w].begun) continue;
    const auto& uses = spec_[w].uses;
    if (std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return use.from == workflow; })) return true;
  }
  return false;
}

// Whether what has ended is known for good, so that the next ones may begin with it.
bool Job::pass_border(Instant now, JobEffects& out) {
  const auto& all = sheet_.workflows;
  const auto ended = static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [](const WorkflowSheet& one) { return is_final(one.state); }));
  if (ended == sheet_.context_version) return true;
  // Another owner may have been here before, and have found no quorum.
  if (!border_since_) border_since_ = adopted_ && zero_ ? end_of_last() : now;
  if (now - *border_since_ >= rules_.layer_sync_limit) {
    BW_PROBE("dispatch: a layer does not begin for want of a quorum");
    const std::string why = "no quorum of managers for " +
                            std::to_string(rules_.layer_sync_limit.ns() / 1'000'000'000) +
                            " s, when what it depends on had ended";
    add_event(now, "layer_sync_failed", why);
    for (uint16_t w = 0; w < spec_.size(); ++w) {
      if (is_final(all[w].state)) continue;
      if (!spec_[w].is_teardown && !all[w].begun) {
        add_loss(w, "never begun", std::max(all[w].parts, 1U), elapsed(*border_since_), elapsed(now));
      }
      become(w, all[w].state == WorkflowState::kPending ? WorkflowState::kSkipped : WorkflowState::kFailed, why, out);
    }
    conclude(now, out);
    return false;
  }
  if (context_kept_ < context_.version) return false;
  border_since_.reset();
  sheet_.context_version = ended;
  changed_ = true;
  return true;
}

// When the last of what has ended did, by the clock of the run.
Instant Job::end_of_last() const {
  Instant last = *zero_;
  for (const ShareSheet& share : sheet_.shares) {
    if (share.end && share.streams) last = std::max(last, clock_of(share.workflow) + share.end->ran);
  }
  return last;
}

std::vector<plan::Given> Job::given_to(uint16_t workflow) const {
  std::vector<plan::Given> given;
  const auto& uses = spec_[workflow].uses;
  for (std::size_t u = 0; u < uses.size(); ++u) {
    auto one = context_.given(uses[u].from, uses[u].provide, static_cast<uint16_t>(u));
    if (one) given.push_back(std::move(*one));
  }
  return given;
}

void Job::note_missing_values(Instant now, uint16_t workflow) {
  for (const WorkflowSpec::Use& use : spec_[workflow].uses) {
    const plan::Collection* list = context_.find_list(use.from, use.provide);
    if (list != nullptr && list->cut()) {
      add_event(now, "list_cut", plan::cut_text(use.name, spec_[use.from].name, *list));
    }
    const bool has_any = list != nullptr ? !list->items().empty() : context_.find(use.from, use.provide) != nullptr;
    if (!use.required || has_any) continue;
    add_event(
        now, "value_missing",
        "workflow '" + spec_[use.from].name + "' provided no '" + use.name + "' for '" + spec_[workflow].name + "'");
  }
}

}  // namespace bellwether::dispatch
