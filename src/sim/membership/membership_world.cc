#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "cluster/membership/packet.h"
#include "core/base/overloaded.h"
#include "core/base/units.h"
#include "sim/all_worlds.h"
#include "sim/membership/anomaly_grid.h"
#include "sim/membership/member_world.h"

namespace bellwether::sim {
namespace {

using membership::MemberChange;
using membership::MemberState;

constexpr auto kMembershipMistakes = std::to_array<Mistake>({
    {"forges-incarnation", "a relay \"repairs\" a record by raising another member's incarnation"},
    {"swallows-accusations", "a node does not receive accusations against it: once dead, it stays dead"},
    {"proof-from-timeout", "a driver takes a slow connection as proof of an ended process"},
    {"answers-for-the-dead", "probes are answered although the process behind the address is gone"},
});

// Ends of links that are cut make islands, dead members are asked again every few seconds each, and evictions may be
// held for half a minute.
constexpr Duration kAgreeWithin = Duration::seconds(240);
constexpr std::size_t kMaxClones = 3;
constexpr std::size_t kSeeds = 3;  // the first members, through which all others join

membership::Figures figures_of(uint64_t seed) {
  membership::Figures figures = seed % 3 == 0 ? membership::local() : membership::lan();
  figures.island_interval = Duration::seconds(10);
  return figures;
}

struct MembershipWorld final : FaultyWorld, Watcher {
  explicit MembershipWorld(const RunSettings& settings)
      : FaultyWorld(settings), world_({.figures = figures_of(settings.seed), .seed = settings.seed}) {
    world_.watch(this);
  }
  bool is(MistakeIn<kMembershipMistakes> mistake) const { return makes(mistake.number); }

  Instant now() const override { return world_.now(); }
  Prng& prng() override { return world_.prng(); }
  uint64_t fingerprint() const override {
    Prng last = world_.draws();
    return world_.fingerprint() ^ last.next();
  }
  bool run_for(Duration span) override {
    const Instant end = now() + span;
    while (now() < end && holds()) {
      world_.run_until(std::min(end, now() + Duration::millis(100)));
      for (const std::size_t node : std::exchange(ended_, {})) {
        if (world_.running(node)) world_.crash(node);
      }
      if (makes_any() && chance(0.05)) drivers_err();
    }
    events_ = world_.events();
    return holds();
  }
  std::size_t any() { return prng().below(world_.size()); }
  Duration between(int64_t low_ms, int64_t high_ms) { return Duration::millis(prng().between(low_ms, high_ms)); }
  std::string slot(std::size_t node) const { return fmt::format("{} at slot {}", world_.name(node), node); }

  // --- rules that always hold
  void saw(std::size_t node, const membership::Effect& effect, Instant) override {
    std::visit(Overloaded{[&](const membership::MemberEvent& event) {
                            if (tracing()) {
                              say(fmt::format("  {}: {} {} ({}, incarnation {})", world_.name(node), event.name,
                                              to_string(event.change), to_string(event.cause), event.incarnation));
                            }
                            judge(node, event);
                          },
                          [&](const membership::IncarnationRaised& raised) {
                            issued(world_.name(node), raised.incarnation);
                            memories_[node].incarnation = raised.incarnation;
                          },
                          [&](const membership::Refused&) {
                            say(fmt::format("  {} is refused, its name is taken", world_.name(node)));
                            ended_.push_back(node);
                          },
                          [&](const membership::LeftGroup&) { ended_.push_back(node); },
                          [](const auto&) {}},  // judged by the views of others
               effect);
  }
  // A process under this name begins with this incarnation, or has raised it.
  void issued(const std::string& name, uint32_t incarnation) {
    uint32_t& highest = issued_[name];
    highest = std::max(highest, incarnation);
  }
  void judge(std::size_t node, const membership::MemberEvent& event) {
    const auto seen = [&] {
      return fmt::format("{} holds {} {}", world_.name(node), event.name, to_string(event.change));
    };
    const auto known = issued_.find(event.name);
    if (known == issued_.end() || event.incarnation > known->second) {
      fail(fmt::format("I14: {} at incarnation {}, which it never took", seen(), event.incarnation));
    }
    if (calm_ && event.change == MemberChange::kDied && runs(event.name)) {
      fail(fmt::format("I14: {}, which runs and is reachable", seen()));
    }
  }
  bool runs(const std::string& name) const {
    for (std::size_t i = 0; i < world_.size(); ++i) {
      if (world_.running(i) && world_.name(i) == name) return true;
    }
    return false;
  }
  // Empty when its view agrees with the world; else the difference.
  std::string wrong_in(std::size_t node) const {
    const membership::MemberTable& view = world_.kernel(node).table();
    std::size_t running = 0;
    for (std::size_t i = 0; i < world_.size(); ++i) {
      if (!world_.running(i)) continue;
      ++running;
      const auto found = view.find(world_.id(i));
      if (!found || view.at(*found).state != MemberState::kAlive) {
        return fmt::format("{} holds {} {}, which runs", world_.name(node), world_.name(i),
                           found ? to_string(view.at(*found).state) : "unknown");
      }
      if (view.endpoint(*found) != MemberWorld::endpoint(i)) {
        return fmt::format("{} looks for {} where it is not", world_.name(node), world_.name(i));
      }
    }
    if (view.present() == running) return {};
    return fmt::format("{} sees {} members, of which run {}", world_.name(node), view.present(), running);
  }
  std::string disagreement() const {
    for (std::size_t i = 0; i < world_.size(); ++i) {
      std::string wrong = world_.running(i) ? wrong_in(i) : std::string();
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  // --- mistakes of the network and of drivers
  bool passes(std::size_t from, std::size_t to, std::string& bytes) override {
    using namespace membership;
    if (!makes_any() || to >= world_.size()) return true;
    PacketReader in(bytes);
    PacketHead head;
    if (!read_head(in, head)) return true;
    if (is("answers-for-the-dead") && !world_.running(to) && head.kind == PacketKind::kPing) {
      std::string answer;
      PacketWriter writer(answer);
      write_head(writer, {.kind = PacketKind::kAck, .from = world_.id(to), .sequence = head.sequence, .life = 1});
      world_.inject(to, from, std::move(answer));
      return true;
    }
    if (!is("swallows-accusations")) return true;
    std::string rest(std::string_view(bytes).substr(0, bytes.size() - in.left()));
    PacketWriter writer(rest);
    Update update;
    while (in.update(update)) {
      if (update.node != world_.id(to)) writer.update(update);
    }
    bytes = rest;
    return true;
  }
  // Mistakes of the drivers of all nodes, now and then.
  void drivers_err() {
    using namespace membership;
    const std::size_t node = any();
    const std::size_t other = any();
    if (node == other || !world_.running(node) || !world_.running(other)) return;
    if (is("proof-from-timeout")) {
      world_.tell(node, ProofOfDeath{world_.name(other), MemberWorld::endpoint(other)});
    } else if (is("forges-incarnation")) {
      const MemberTable& table = world_.kernel(node).table();
      const auto found = table.find(world_.id(other));
      if (!found) return;
      std::string packet;
      PacketWriter writer(packet);
      write_head(writer, {.kind = PacketKind::kNews, .from = world_.id(other)});
      writer.update({.kind = UpdateKind::kAlive,
                     .node = world_.id(other),
                     .incarnation = table.at(*found).incarnation + 1,
                     .name = world_.name(other),
                     .life = table.at(*found).life,
                     .profile = table.profile(*found),
                     .accusers = {}});
      world_.inject(other, node, std::move(packet));
    }
  }

  // --- processes
  // With its full memory, with its incarnation only, with an outdated memory, or with none.
  bool start(std::size_t node) {
    // A clone's slot is used once.
    if (world_.running(node) || (node >= names_ && memories_[node].started)) return false;
    Memory& memory = memories_[node];
    memory.started = true;
    std::vector<std::size_t> seeds;
    for (std::size_t seed = 0; seed < std::min(kSeeds, names_); ++seed) {
      if (world_.name(seed) != world_.name(node)) seeds.push_back(seed);
    }
    const uint64_t how = prng().below(4);
    const uint32_t incarnation = how == 3 ? 0 : how == 2 ? memory.incarnation / 2 : memory.incarnation;
    issued(world_.name(node), incarnation);
    say(fmt::format("start {}, incarnation {}{}", slot(node), incarnation, how == 0 ? ", with its view" : ""));
    world_.start(node, seeds, how == 0 ? memory.view : std::vector<membership::Update>{}, incarnation);
    return true;
  }
  bool crash(std::size_t node) {
    if (!world_.running(node)) return false;
    say("crash " + slot(node));
    memories_[node].view = world_.kernel(node).remember();
    world_.crash(node);
    if (!chance(0.4)) return true;
    run_for(between(0, 3'000));
    start(node);
    return true;
  }
  bool stall(std::size_t node) {
    if (!world_.running(node)) return false;
    const Stall kind = chance(0.5) ? Stall::kBlocked : Stall::kStopped;
    const Duration span = between(100, chance(0.3) ? 20'000 : 2'000);
    say(fmt::format("stall {} for {}", slot(node), format_duration(span)));
    world_.stall(node, kind, span);
    return true;
  }
  bool leave(std::size_t node) {
    if (!world_.running(node)) return false;
    say("leave " + slot(node));
    world_.tell(node, membership::Leave{});
    return true;
  }
  bool change_profile(std::size_t node) {
    if (!world_.running(node)) return false;
    world_.tell(node, membership::SetMeta{fmt::format("meta {}", now().ns())});
    world_.tell(node, membership::SetState{fmt::format("state {}", now().ns())});
    return true;
  }
  // Another process under a name that is in use: a copied machine, a wrong configuration.
  bool clone() {
    if (world_.size() >= names_ + kMaxClones) return false;
    const std::size_t original = prng().below(names_);
    const std::size_t node = world_.add(world_.name(original));
    memories_.push_back({memories_[original].incarnation, memories_[original].view, false});
    say("clone " + world_.name(original));
    return start(node);
  }

  // --- links
  template <class Apart>
  bool cut_where(const Apart& apart) {
    for (std::size_t i = 0; i < world_.size(); ++i) {
      for (std::size_t j = 0; j < world_.size(); ++j) world_.cut(i, j, apart(i, j));
    }
    return true;
  }
  // Two groups that do not reach each other; with a bridge one node reaches both.
  bool split(std::size_t bridge) {
    std::vector<bool> side(world_.size());
    for (std::size_t i = 0; i < world_.size(); ++i) side[i] = chance(0.4);
    return cut_where([&](std::size_t i, std::size_t j) { return side[i] != side[j] && i != bridge && j != bridge; });
  }
  bool ring_of_majorities() {
    const std::size_t n = world_.size();
    return cut_where(
        [n](std::size_t i, std::size_t j) { return std::min((i + n - j) % n, (j + n - i) % n) > n / 4 + 1; });
  }
  bool cut_one_way(std::size_t a, std::size_t b) {
    if (a == b) return false;
    say(fmt::format("slot {} does not reach slot {}", a, b));
    world_.cut(a, b, true);
    return true;
  }
  bool deafen(std::size_t node) {
    say(fmt::format("nothing reaches slot {}", node));
    for (std::size_t i = 0; i < world_.size(); ++i) {
      if (i != node) world_.cut(i, node, true);
    }
    return true;
  }
  bool flap(std::size_t a, std::size_t b) {
    if (a == b) return false;
    say(fmt::format("between slots {} and {}", a, b));
    for (int i = 0; i < 10; ++i) {
      world_.cut(a, b, i % 2 == 0);
      world_.cut(b, a, i % 2 == 0);
      run_for(between(50, 800));
    }
    return true;
  }
  void cut_all_of(std::size_t node, bool cut) {
    say((cut ? "clog slot " : "unclog slot ") + std::to_string(node));
    for (std::size_t i = 0; i < world_.size(); ++i) {
      if (i == node) continue;
      world_.cut(i, node, cut);
      world_.cut(node, i, cut);
    }
  }
  // Swizzle-clog: some nodes lose their network one after the other, and get it back in another order.
  bool clog_some() {
    for (std::size_t count = 1 + any(); count > 0; --count) {
      clogged_.push_back(any());
      cut_all_of(clogged_.back(), true);
      run_for(between(0, 300));
    }
    return true;
  }
  bool unclog_one() {
    if (clogged_.empty()) return false;
    const auto which = clogged_.begin() + static_cast<std::ptrdiff_t>(prng().below(clogged_.size()));
    cut_all_of(*which, false);
    clogged_.erase(which);
    return true;
  }
  bool heal_links() {
    world_.heal_links();
    clogged_.clear();
    return true;
  }

  // --- phases
  Pace pace() const override { return {.least_faults = 10, .most_faults = 60, .gap = Duration::seconds(3)}; }
  void begin() override {
    names_ = 3 + prng().below(chance(0.2) ? 38 : 10);
    memories_.resize(names_);
    for (std::size_t i = 0; i < names_; ++i) {
      world_.add(fmt::format("m{}", i), static_cast<uint8_t>(prng().below(2)));
    }
    if (chance(0.4)) world_.set_loss(0.1 * prng().unit());
    for (std::size_t i = 0; i < names_; ++i) {
      if (chance(0.3)) world_.set_clock_rate(i, 0.9 + 0.2 * prng().unit());
      start(i);
      run_for(between(0, 500));
    }
  }
  void make_whole() override {
    heal_links();
    world_.set_loss(0);
    // The seeds run at their known addresses: not another process of their name.
    for (std::size_t i = 0; i < std::min(kSeeds, names_); ++i) {
      if (world_.running(i)) continue;
      for (std::size_t clone = names_; clone < world_.size(); ++clone) {
        if (world_.name(clone) != world_.name(i) || !world_.running(clone)) continue;
        say("crash " + slot(clone));
        world_.crash(clone);
      }
      start(i);
    }
  }
  void expect_recovery() override {
    const Instant end = now() + kAgreeWithin;
    std::string wrong = "nothing was looked at";
    while (!wrong.empty() && now() < end && run_for(Duration::seconds(1))) wrong = disagreement();
    if (!wrong.empty()) return fail("I14: long after all faults were repaired " + wrong);
    // Pending events from before end, then no member may change.
    run_for(Duration::seconds(15));
    calm_ = true;
    run_for(Duration::seconds(30));
    wrong = disagreement();
    if (!wrong.empty()) fail("I14: in a calm world " + wrong);
  }
  std::vector<Run::Count> counts() const override { return {{"names", names_}}; }

  // A node's data after a crash: its last incarnation and a view of some time ago.
  struct Memory {
    uint32_t incarnation = 0;
    std::vector<membership::Update> view;
    bool started = false;
  };
  MemberWorld world_;
  std::size_t names_ = 0;
  std::vector<Memory> memories_;
  std::vector<std::size_t> ended_;  // processes that have left or were refused
  std::vector<std::size_t> clogged_;
  std::map<std::string, uint32_t> issued_;
  bool calm_ = false;  // no death of a running process is excused any more
};

constexpr auto kMembershipFaults = std::to_array<Fault<MembershipWorld>>({
    {16, "a process crashes", [](MembershipWorld& w) { return w.crash(w.any()); }},
    {16, "a process that has ended is restarted", [](MembershipWorld& w) { return w.start(w.any()); }},
    {8, "a process is slow or paused", [](MembershipWorld& w) { return w.stall(w.any()); }},
    {3, "a member leaves", [](MembershipWorld& w) { return w.leave(w.any()); }},
    {8, "a member changes its profile", [](MembershipWorld& w) { return w.change_profile(w.any()); }},
    {3, "one name, two processes", [](MembershipWorld& w) { return w.clone(); }},
    {6, "a partition", [](MembershipWorld& w) { return w.split(w.world_.size()); }},
    {6, "a partition, and one member that reaches both sides", [](MembershipWorld& w) { return w.split(w.any()); }},
    {6, "each member reaches a different majority", [](MembershipWorld& w) { return w.ring_of_majorities(); }},
    {6, "members are clogged one after another", [](MembershipWorld& w) { return w.clog_some(); }},
    {40, "a member is unclogged", [](MembershipWorld& w) { return w.unclog_one(); }},
    {6, "a link is cut one way", [](MembershipWorld& w) { return w.cut_one_way(w.any(), w.any()); }},
    {6, "a member is deaf", [](MembershipWorld& w) { return w.deafen(w.any()); }},
    {6, "a link flaps", [](MembershipWorld& w) { return w.flap(w.any(), w.any()); }},
    {6, "all links heal", [](MembershipWorld& w) { return w.heal_links(); }},
});

template <class... Values>
std::string line_of(const char* format, Values... values) {
  char line[200];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

Measurement::Report crash_table(uint64_t seed, uint64_t) {
  const membership::Figures figures = membership::lan();
  Measurement::Report report{.text =
                                 "members   crashes   seen by first p50/p99   by all p50/p99   budget p99 by all\n"};
  for (const std::size_t members : {3, 10, 100, 1000, 10'000}) {
    const std::size_t crashes = members > 1000 ? 5 : 200;
    const Detection seen = measure_detection(figures, {.members = members, .crashes = crashes, .seed = seed});
    report.text += line_of("%7zu %9zu %13.2f/%5.2f s %10.2f/%5.2f s %16.2f s%s\n", members, crashes, seen.first_p50,
                           seen.first_p99, seen.all_p50, seen.all_p99,
                           membership::detection_budget(figures, members).all_p99().seconds_f(),
                           seen.missed > 0 ? "  SOME MISSED" : "");
    report.held &= seen.missed == 0;
  }
  const IdleCost idle = measure_idle(figures, 1000, Duration::seconds(120), seed);
  report.text +=
      line_of("idle, 1000 members: each sends %.2f messages and %.0f bytes a second\n", idle.messages, idle.bytes);
  return report;
}

Measurement::Report grid_table(uint64_t seed, uint64_t seeds) {
  const auto every = static_cast<std::size_t>(1000 / std::clamp<uint64_t>(seeds, 1, 1000));
  return {.text = fmt::format("{}\n{}", anomaly_table(Stall::kBlocked, seed, every),
                              anomaly_table(Stall::kStopped, seed, every))};
}

}  // namespace

WorldRow membership_world() {
  return world_row<MembershipWorld, kMembershipMistakes, kMembershipFaults>("membership",
                                                                            "a group of members that watch each other");
}

std::span<const Measurement> membership_measurements() {
  static constexpr std::array kRows{
      Measurement{"membership-grid", "false positives and traffic, compared with plain SWIM and Lifeguard",
                  &grid_table},
      Measurement{"membership-crash", "the detection time of a crash, and the traffic of an idle group", &crash_table},
  };
  return kRows;
}

}  // namespace bellwether::sim
