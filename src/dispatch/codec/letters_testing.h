// Letters, answers and sheets with anything in them that may be there, drawn from a seed.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "dispatch/letters.h"

namespace bellwether::dispatch {

class AnyLetter {
 public:
  // With a mark, no text for people is empty, and each begins with it.
  explicit AnyLetter(uint64_t seed, std::string_view mark = {}) : prng_(seed), mark_(mark) {}

  Letter letter() { return letter(prng_.below(std::variant_size_v<Letter>)); }
  Letter letter(std::size_t kind);
  Response response() { return response(prng_.below(std::variant_size_v<Response>)); }
  Response response(std::size_t kind);
  JobSheet sheet();

  Prng& prng() { return prng_; }

 private:
  bool flip() { return prng_.chance(0.5); }
  std::size_t few() { return prng_.below(4); }
  // Small and large numbers alike, zero among them.
  uint64_t number(uint64_t most) { return std::min(most, prng_.next() >> prng_.below(64)); }
  uint32_t small(uint32_t most) { return static_cast<uint32_t>(number(most)); }
  uint64_t second() { return number(kMostSeconds); }
  Duration span() { return Duration::nanos(static_cast<int64_t>(number(static_cast<uint64_t>(kLongestSpan.ns())))); }
  Duration some_span() { return span() + Duration::nanos(1); }
  WallTime moment() { return {static_cast<int64_t>(number(static_cast<uint64_t>(kLatestTime.unix_ns)))}; }
  template <class Enum>
  Enum any(std::size_t values) {
    return static_cast<Enum>(prng_.below(values));
  }
  std::string word(std::string_view letters, std::size_t least, std::size_t most) {
    std::string out(static_cast<std::size_t>(prng_.between(static_cast<int64_t>(least), static_cast<int64_t>(most))),
                    0);
    for (char& c : out) c = letters[prng_.below(letters.size())];
    return out;
  }
  std::string id() { return word("abcXYZ019-_", 1, kMostIdBytes); }
  std::string name() { return word("wW1.-_ ", 1, kMostIdBytes); }
  std::string text() {
    const bool empty = flip();
    const std::string rest = word("The end: no 'way' \xfe\xff", 1, kMostTextBytes - 10);
    return empty && mark_.empty() ? std::string() : mark_ + rest;
  }
  std::string bytes() { return word(std::string_view("\0\1\x7f\xff", 4), 0, 40); }
  JobFence fence() { return JobFence(number(UINT64_MAX / 2 - 1) + 1); }
  ShareId share() { return ShareId(small(UINT32_MAX - 1) + 1); }
  // Increasing, so that none is there twice.
  ShareId next_share() { return last_ = ShareId(last_.value() + 1 + small(1'000)); }
  PartRange parts() {
    PartRange out;
    out.of = small(kMostParts - 1) + 1;
    out.count = small(out.of - 1) + 1;
    out.first = small(out.of - out.count);
    return out;
  }
  resilience::Backpressure pressure() { return any<resilience::Backpressure>(resilience::kBackpressures); }
  ShareEnd end() { return {any<ShareOutcome>(kShareOutcomes), text(), second(), span()}; }
  // As its worker tells it, with what it leaves for other workflows.
  ShareEnd told_end() {
    ShareEnd out = end();
    for (std::size_t i = few(); i > 0; --i) {
      const bool too_large = flip();
      out.provided.push_back(
          {static_cast<uint16_t>(small(99)), small(9), span(), too_large ? "" : bytes(), too_large, flip()});
    }
    for (std::size_t i = few(); i > 0; --i) out.notes.push_back(text());
    for (std::size_t i = few(); i > 0; --i) out.findings.push_back(finding());
    return out;
  }
  plan::Finding finding() {
    const Duration begin = Duration::millis(static_cast<int64_t>(small(99'999)));
    return {any<plan::Strain>(plan::kStrains), begin, begin + Duration::millis(static_cast<int64_t>(small(99'999))),
            prng_.unit(), true};
  }
  ShareOrder order();
  WorkerReport report();
  ShareSight sight();
  ShareSheet share_sheet(std::size_t workflows);
  LiveSum live_sum() { return {second(), second(), second(), second(), static_cast<int64_t>(second()), span()}; }
  BundleLetter bundle() { return {id(), id(), bytes()}; }

  Prng prng_;
  std::string mark_;
  ShareId last_;
};

// Bytes with texts that fit, as if one had written them who does not make texts fit.
inline std::string with_wild_texts(std::string bytes, std::string_view fit_mark, std::string_view wild_mark) {
  for (std::size_t at = 0; (at = bytes.find(fit_mark, at)) != std::string::npos;) {
    bytes.replace(at, fit_mark.size(), wild_mark);
  }
  return bytes;
}

// Whoever adds a part finds that this does not compile, and adds it to what is drawn below, too.
inline void count_parts(const JobSheet& sheet, const WorkflowSheet& workflow, const ShareSheet& share,
                        const ShareOrder& order, const ShareSight& sight, const WorkerReport& report,
                        const Watched& watched) {
  [[maybe_unused]] const auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
                                a20, a21] = sheet;
  [[maybe_unused]] const auto& [b1, b2, b3, b4, b5, b6] = workflow;
  [[maybe_unused]] const auto& [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17] = share;
  [[maybe_unused]] const auto& [d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15, d16] = order;
  [[maybe_unused]] const auto& [e1, e2, e3, e4, e5, e6, e7] = sight;
  [[maybe_unused]] const auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9] = report;
  [[maybe_unused]] const auto& [g1, g2, g3, g4, g5, g6, g7, g8, g9] = watched;
}

inline ShareOrder AnyLetter::order() {
  ShareOrder out;
  out.job = id();
  out.share = share();
  out.fence = fence();
  out.workflow = static_cast<uint16_t>(prng_.below(kMostWorkflows));
  out.parts = parts();
  out.cores = small(out.parts.count - 1) + 1;
  out.squeeze = flip();
  out.base_second = second();
  out.seed = prng_.next();
  out.bundle = id();
  out.kill_grace = span();
  out.isolation_limit = std::min(some_span(), kLongestSpan);
  out.execution_limit = std::min(some_span(), kLongestSpan);
  out.context_version = prng_.next();
  for (std::size_t i = few(); i > 0; --i) {
    if (flip()) {
      out.given.push_back({static_cast<uint16_t>(small(99)), bytes()});
    } else {
      out.given.push_back({static_cast<uint16_t>(small(99)), {}, {bytes(), bytes()}});
    }
  }
  out.on_overtime = any<plan::OnOvertime>(plan::kOnOvertimes);
  return out;
}

inline WorkerReport AnyLetter::report() {
  WorkerReport out;
  out.life = prng_.next() | 1;
  out.cores = small(kMostCores);
  out.free = small(out.cores);
  out.takes_work = flip();
  out.healthy = flip();
  out.state = text();
  out.reason = text();
  out.leaves = flip();
  for (std::size_t i = few(); i > 0; --i) {
    out.held.push_back({id(), fence(), next_share(), any<SharePhase>(kSharePhases)});
    if (flip()) out.held.back().headway = {second(), second(), second(), second(), second(), second()};
  }
  return out;
}

inline ShareSight AnyLetter::sight() {
  ShareSight out;
  out.share = next_share();
  out.phase = any<SharePhase>(kSharePhases);
  out.clock = flip() ? span() : -span();
  out.from = second();
  out.measured = second();
  if (flip()) out.until = second();
  if (out.phase == SharePhase::kEnded) {
    out.end = told_end();
    out.end.last_number = number(out.measured);
  }
  return out;
}

inline Letter AnyLetter::letter(std::size_t kind) {
  switch (kind) {
    case 0: return report();
    case 1: {
      const uint64_t first = std::max<uint64_t>(second(), 1);
      return WindowLetter{id(), share(), second(), first, std::max(first, second()), bytes()};
    }
    case 2: return EndLetter{id(), share(), told_end(), flip() ? second() : 0};
    case 3: {
      LiveLetter out{prng_.next(), {}, Instant() + span()};
      for (std::size_t i = few(); i > 0; --i) {
        out.shares.push_back({id(), next_share(), second(), second(), second(), second(), int64_t{7}});
      }
      return out;
    }
    case 4: return Offer{order()};
    case 5: return bundle();
    case 6: return BeginLetter{id(), fence(), share(), flip() ? span() : -span(), flip(), second()};
    case 7: return StopLetter{id(), fence(), share(), any<StopHow>(kStopHows), text()};
    case 8: {
      AdoptLetter out{id(), fence(), {}};
      for (std::size_t i = few(); i > 0; --i) out.streams.push_back({next_share(), second()});
      return out;
    }
    case 9: return RetireLetter{id(), fence()};
    case 10: return Submit{id(), text(), "a bundle" + bytes(), prng_.next()};
    case 11: return Watch{id(), prng_.next(), second(), prng_.next(), span(), span()};
    case 12: return ListJobs{};
    case 13: {
      Cancel out{id(), text(), text(), any<StopHow>(kStopHows), {}, prng_.next()};
      for (std::size_t i = few(); i > 0; --i) out.workflows.push_back(text() + "w");
      return out;
    }
    case 14: return FetchBundle{id()};
    case 15: return ListWorkers{};
    case 16: return ListDatacenters{};
    case 17: return TakeOverLetter{id(), fence(), share(), flip() ? span() : -span(), second()};
    case 18: return HandOverLetter{id(), fence(), share(), std::max<uint64_t>(second(), 1)};
    case 19: {
      using Reason = resilience::ExtensionRequest::Reason;
      const Reason reason = any<Reason>(resilience::kExtensionReasons);
      return ExtendLetter{id(), share(), span(), {reason, prng_.unit(), span(), small(UINT32_MAX)}};
    }
    default: return WatchLive{id(), prng_.next(), prng_.next(), span()};
  }
}

inline Response AnyLetter::response(std::size_t kind) {
  switch (kind) {
    case 0: return Noted{pressure()};
    case 1:
      return Refusal{any<Refusal::Kind>(kRefusalKinds), text(), flip() ? name() : "", flip() ? fence() : JobFence(),
                     span()};
    case 2: {
      const uint64_t applied = second();
      return Applied{applied, number(applied), flip(), pressure()};
    }
    case 3: {
      Adopted out;
      for (std::size_t i = few(); i > 0; --i) out.shares.push_back(sight());
      return out;
    }
    case 4: return Submitted{id(), any<JobState>(kJobStates), small(UINT32_MAX)};
    case 5: {
      Watched out{sheet(), small(UINT32_MAX), flip() ? name() : "", prng_.next(), second(), bytes(), {}, flip(), {}};
      if (flip()) out.live = live_sum();
      for (std::size_t i = few(); i > 0; --i) out.news.push_back({span(), flip(), bytes()});
      return out;
    }
    case 6: {
      JobList out{{}, flip()};
      for (std::size_t i = few(); i > 0; --i) {
        out.jobs.push_back({id(), text(), text(), any<JobState>(kJobStates), text(), moment(), moment(), moment(),
                            flip() ? name() : "", small(UINT32_MAX)});
      }
      return out;
    }
    case 7: return bundle();
    case 9: {
      DatacenterList out;
      for (std::size_t i = few(); i > 0; --i) {
        const uint32_t cores = small(UINT32_MAX);
        out.datacenters.push_back({text(), small(UINT32_MAX), small(UINT32_MAX), cores, small(cores), text(), text()});
      }
      return out;
    }
    case 10: return MoreTime{span(), small(UINT32_MAX), flip(), flip(), text()};
    case 11: {
      LiveNews out{prng_.next(), prng_.next(), {}, live_sum(), flip()};
      uint64_t number = small(1'000'000);
      for (std::size_t i = few(); i > 0; --i) {
        number += 1 + small(5);
        out.windows.push_back({number, small(UINT32_MAX), small(UINT32_MAX), live_sum()});
      }
      return out;
    }
    default: {
      WorkerList out;
      for (std::size_t i = few(); i > 0; --i) {
        const uint32_t cores = small(kMostCores);
        out.workers.push_back({name(), cores, small(cores), text(), text(), small(UINT32_MAX), text()});
      }
      return out;
    }
  }
}

inline ShareSheet AnyLetter::share_sheet(std::size_t workflows) {
  ShareSheet out;
  out.id = next_share();
  out.workflow = static_cast<uint16_t>(prng_.below(workflows));
  out.worker = flip() ? "w1" : name();
  out.life = flip() ? 1 : prng_.next();
  out.parts = parts();
  out.cores = small(kMostParts);
  out.squeeze = flip();
  out.state = any<ShareState>(kShareStates);
  out.from = second();
  out.streams = out.state == ShareState::kRunning || flip();
  out.lost_from = span();
  if (out.state == ShareState::kEnded || flip()) out.end = end();
  if (out.id.value() > 1 && flip()) out.follows = ShareId(small(out.id.value() - 2) + 1);
  if (flip()) out.until = std::max<uint64_t>(second(), 1);
  out.handed_over = out.until > 0 && out.streams && flip();
  out.extensions = small(UINT32_MAX);
  out.extended = span();
  return out;
}

inline JobSheet AnyLetter::sheet() {
  JobSheet out;
  out.id = id();
  out.name = text();
  out.by = text();
  out.bundle = id();
  out.seed = prng_.next();
  out.submitted = moment();
  out.revision = prng_.next();
  out.state = any<JobState>(kJobStates);
  out.why = text();
  out.started = moment();
  out.elapsed = span();
  if (flip())
    out.stop = JobStop{any<JobStop::Cause>(kStopCauses), any<StopHow>(kStopHows), text(), text(), prng_.next(), flip()};
  for (std::size_t i = few(); i > 0; --i) {
    out.workflows.push_back(
        {any<WorkflowState>(kWorkflowStates), text(), small(kMostParts), small(UINT32_MAX), second(), flip()});
  }
  last_ = ShareId();
  for (std::size_t i = out.workflows.empty() ? 0 : few(); i > 0; --i) {
    out.shares.push_back(share_sheet(out.workflows.size()));
  }
  out.last_share = last_.value() + small(9);
  out.context_version = prng_.next();
  for (std::size_t i = few(); i > 0; --i) {
    const Duration from = span();
    out.losses.push_back({from, std::max(from, span()), flip() ? 0 : prng_.unit(), text()});
  }
  for (std::size_t i = few(); i > 0; --i) out.events.push_back({span(), text(), text()});
  out.events_dropped = small(UINT32_MAX);
  out.ended = moment();
  for (std::size_t i = few(); i > 0; --i) {
    out.findings.push_back(finding());
    out.findings.back().worker = text();
  }
  return out;
}

}  // namespace bellwether::dispatch
