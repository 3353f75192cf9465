#include "sim/membership/chaos.h"

#include <algorithm>

#include "membership/packet.h"

namespace bellwether::sim {
namespace {

membership::Figures figures_of(uint64_t seed) {
  membership::Figures figures = seed % 3 == 0 ? membership::local() : membership::lan();
  figures.island_interval = Duration::seconds(10);
  return figures;
}

// Ends of links that are cut make islands, dead members are asked again every few seconds each, and evictions may be
// held for half a minute.
constexpr Duration kAgreeWithin = Duration::seconds(240);

}  // namespace

MembershipChaos::MembershipChaos(uint64_t seed, MembershipMistake mistake, bool trace)
    : mistake_(mistake), trace_(trace), world_({.figures = figures_of(seed), .seed = seed}), checker_(world_) {
  world_.watch(this);
  world_.tamper(this);
}

void MembershipChaos::note(const std::string& text) {
  if (trace_) run_.trace += std::to_string(world_.now().ns() / 1'000'000) + " ms: " + text + "\n";
}

void MembershipChaos::saw(std::size_t node, const membership::Effect& effect, Instant world) {
  if (const auto* event = std::get_if<membership::MemberEvent>(&effect)) {
    checker_.saw(node, *event, world);
    note("  " + world_.name(node) + ": " + event->name + " " + to_string(event->change) + " (" +
         to_string(event->cause) + ", incarnation " + std::to_string(event->incarnation) + ")");
  } else if (const auto* raised = std::get_if<membership::IncarnationRaised>(&effect)) {
    checker_.issued(world_.name(node), raised->incarnation);
    memories_[node].incarnation = raised->incarnation;
  } else if (std::holds_alternative<membership::Refused>(effect)) {
    note("  " + world_.name(node) + " is refused, its name is taken");
    ended_.push_back(node);
  } else if (std::holds_alternative<membership::LeftGroup>(effect)) {
    ended_.push_back(node);
  }
}

bool MembershipChaos::passes(std::size_t from, std::size_t to, std::string& bytes) {
  using namespace membership;
  if (to >= world_.size()) return true;
  PacketReader in(bytes);
  PacketHead head;
  if (!read_head(in, head)) return true;
  if (mistake_ == MembershipMistake::kAnswersForTheDead && !world_.running(to) && head.kind == PacketKind::kPing) {
    std::string answer;
    PacketWriter writer(answer);
    write_head(writer, {.kind = PacketKind::kAck, .from = world_.id(to), .sequence = head.sequence, .life = 1});
    world_.inject(to, from, std::move(answer));
    return true;
  }
  if (mistake_ != MembershipMistake::kSwallowsAccusations) return true;
  const std::string_view whole = bytes;
  std::string rest(whole.substr(0, whole.size() - in.left()));
  PacketWriter writer(rest);
  Update update;
  while (in.update(update)) {
    if (update.node != world_.id(to)) writer.update(update);
  }
  bytes = rest;
  return true;
}

// What the drivers of all nodes do wrong, now and then.
void MembershipChaos::driver_errs() {
  using namespace membership;
  const std::size_t node = any();
  const std::size_t other = any();
  if (node == other || !world_.running(node) || !world_.running(other)) return;
  if (mistake_ == MembershipMistake::kProofFromTimeout) {
    world_.tell(node, ProofOfDeath{world_.name(other), MemberWorld::endpoint(other)});
  } else if (mistake_ == MembershipMistake::kForgesIncarnation) {
    const auto found = world_.kernel(node).table().find(world_.id(other));
    if (!found) return;
    const Member& member = world_.kernel(node).table().at(*found);
    std::string packet;
    PacketWriter writer(packet);
    write_head(writer, {.kind = PacketKind::kNews, .from = world_.id(other)});
    writer.update({.kind = UpdateKind::kAlive,
                   .node = world_.id(other),
                   .incarnation = member.incarnation + 1,
                   .name = world_.name(other),
                   .life = member.life,
                   .profile = world_.kernel(node).table().profile(*found),
                   .accusers = {}});
    world_.inject(other, node, std::move(packet));
  }
}

void MembershipChaos::reap_processes() {
  for (const std::size_t node : ended_) {
    if (world_.running(node)) world_.crash(node);
  }
  ended_.clear();
}

void MembershipChaos::run_until(Instant end) {
  while (world_.now() < end) {
    world_.run_until(std::min(end, world_.now() + Duration::millis(100)));
    reap_processes();
    if (mistake_ != MembershipMistake::kNone && world_.prng().chance(0.05)) driver_errs();
  }
}

void MembershipChaos::start(std::size_t node) {
  Memory& memory = memories_[node];
  std::vector<std::size_t> seeds;
  for (std::size_t seed = 0; seed < std::min<std::size_t>(3, names_); ++seed) {
    if (world_.name(seed) != world_.name(node)) seeds.push_back(seed);
  }
  // With all that it knew, with its incarnation only, with one that is outdated, or with nothing.
  const uint64_t how = world_.prng().below(4);
  const uint32_t incarnation = how == 3 ? 0 : how == 2 ? memory.incarnation / 2 : memory.incarnation;
  checker_.issued(world_.name(node), incarnation);
  note("start " + world_.name(node) + " at slot " + std::to_string(node) + ", incarnation " +
       std::to_string(incarnation) + (how == 0 ? ", with its view" : ""));
  world_.start(node, seeds, how == 0 ? memory.view : std::vector<membership::Update>{}, incarnation);
}

void MembershipChaos::make_whole() {
  note("the world is whole again");
  world_.heal_links();
  world_.set_loss(0);
  clogged_.clear();
  // Those through whom everybody joins run.
  for (std::size_t i = 0; i < std::min<std::size_t>(3, names_); ++i) {
    bool runs = false;
    for (std::size_t j = 0; j < world_.size(); ++j) runs |= world_.running(j) && world_.name(j) == world_.name(i);
    if (!runs) start(i);
  }
}

MembershipRun MembershipChaos::live() {
  Prng& prng = world_.prng();
  names_ = 3 + prng.below(prng.chance(0.2) ? 38 : 10);
  for (std::size_t i = 0; i < names_; ++i) world_.add("m" + std::to_string(i), static_cast<uint8_t>(prng.below(2)));
  memories_.resize(names_);
  if (prng.chance(0.4)) world_.set_loss(0.1 * prng.unit());
  for (std::size_t i = 0; i < names_; ++i) {
    if (prng.chance(0.3)) world_.set_clock_rate(i, 0.9 + 0.2 * prng.unit());
    start(i);
    run_until(world_.now() + between(0, 500));
  }
  const Instant end = world_.now() + between(20'000, 120'000);
  while (world_.now() < end && checker_.violation().empty()) {
    something_goes_wrong();
    run_until(world_.now() + between(50, prng.chance(0.3) ? 15'000 : 2'000));
  }
  make_whole();
  const Instant whole = world_.now();
  std::string wrong = "nothing was looked at";
  while (!wrong.empty() && checker_.violation().empty() && world_.now() - whole < kAgreeWithin) {
    run_until(world_.now() + Duration::seconds(1));
    wrong = checker_.disagreement();
  }
  run_.agreed_after_s = (world_.now() - whole).seconds_f();
  if (!wrong.empty()) checker_.fail("I14: long after the world was whole " + wrong, world_.now());
  // What is under way from before ends, then nothing may happen to anybody.
  run_until(world_.now() + Duration::seconds(15));
  checker_.calm();
  run_until(world_.now() + Duration::seconds(30));
  wrong = checker_.disagreement();
  if (!wrong.empty()) checker_.fail("I14: in a calm world " + wrong, world_.now());
  run_.violation = checker_.violation();
  run_.fingerprint = world_.fingerprint() ^ world_.prng().next();
  run_.events = world_.events();
  run_.members = static_cast<uint32_t>(names_);
  return run_;
}

MembershipRun live_membership(uint64_t seed, MembershipMistake mistake, bool trace) {
  return MembershipChaos(seed, mistake, trace).live();
}

}  // namespace bellwether::sim
