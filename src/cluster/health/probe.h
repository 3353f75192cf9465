// The probes of an orchestrator (liveness, readiness, startup) as state machines: when to look, how long to wait, and
// how many results in a row change the verdict. The caller reports each outcome; no clock, no request.
#pragma once

#include <cstdint>

#include "core/base/periodic.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::health {

struct ProbeSettings {
  Duration timeout;
  Duration period;
  unsigned failures = 3;  // in a row, that make it fail
  unsigned successes = 1;
};
inline constexpr ProbeSettings kLivenessProbe{Duration::seconds(1), Duration::seconds(10)};
inline constexpr ProbeSettings kReadinessProbe{Duration::seconds(2), Duration::seconds(10)};
inline constexpr ProbeSettings kStartupProbe{Duration::seconds(5), Duration::seconds(5), 30};

class Probe {
 public:
  // Looks for the first time at `now`. `passes` is the verdict until results say otherwise.
  Probe(ProbeSettings settings, bool passes, Instant now, Prng prng);

  // True when it is time to look: then passed() or failed() is to follow within the timeout, or tick() counts a
  // failure.
  bool tick(Instant now);
  void passed();
  void failed();

  Instant next_deadline() const { return looking_ ? look_until_ : next_; }
  bool passes() const { return passes_; }
  // Since the verdict was last the same: results in a row against it.
  unsigned against() const { return against_; }

 private:
  void count(bool passed);
  ProbeSettings settings_;
  Periodic period_;
  bool passes_;
  bool looking_ = false;
  Instant next_;
  Instant look_until_;
  unsigned against_ = 0;
};

// The three of a node. Until it has started, it is alive and not ready, however the other two probes end; a node that
// does not start within the startup probe's limit (150 s) is not alive.
class Probes {
 public:
  struct Settings {
    ProbeSettings liveness = kLivenessProbe;
    ProbeSettings readiness = kReadinessProbe;
    ProbeSettings startup = kStartupProbe;
  };
  Probes(Settings settings, Instant now, Prng prng);

  struct Due {
    bool startup = false;
    bool liveness = false;
    bool readiness = false;
  };
  // What to look at now.
  Due tick(Instant now);
  Instant next_deadline() const;
  void startup_result(Instant now, bool passed);
  void liveness_result(bool passed);
  void readiness_result(bool passed);

  bool started() const { return started_; }
  bool live() const { return started_ ? liveness_.passes() : startup_.passes(); }
  bool ready() const { return started_ && liveness_.passes() && readiness_.passes(); }

 private:
  Settings settings_;
  Prng prng_;
  bool started_ = false;
  Probe startup_;
  Probe liveness_;
  Probe readiness_;
};

}  // namespace bellwether::health
