#include "sim/datacenter/worker_faults.h"

#include "sim/datacenter/sim_assignments.h"

namespace bellwether::sim {
namespace {

constexpr Duration kMinStop = Duration::seconds(1);
constexpr Duration kMaxStop = Duration::seconds(20);
constexpr Duration kMaxSlow = Duration::seconds(10);

}  // namespace

DatacenterPlace* WorkerFaults::busy() {
  std::vector<DatacenterPlace*> found;
  for (const auto& place : places_) {
    if (place->children > 0 && !place->machine.is_paused()) found.push_back(place.get());
  }
  return found.empty() ? nullptr : found[home_.prng().below(found.size())];
}

DatacenterPlace* WorkerFaults::owner() const {
  const auto jobs = [](const DatacenterPlace& place) {
    return place.manager == nullptr ? 0 : place.manager->service().jobs();
  };
  DatacenterPlace* most = nullptr;
  for (const auto& place : places_) {
    if (jobs(*place) > (most == nullptr ? 0 : jobs(*most))) most = place.get();
  }
  return most;
}

bool WorkerFaults::kill_process() {
  DatacenterPlace* const place = busy();
  return place != nullptr && home_.kill(place->machine);
}

bool WorkerFaults::lose_power() {
  DatacenterPlace* const place = busy();
  return place != nullptr && home_.lose_power_for_a_while(place->machine);
}

void WorkerFaults::go_on_later(DatacenterPlace& place, Duration after) {
  world_.after(after, [this, &place] {
    home_.say(place.name + " goes on");
    if (place.assignments != nullptr) place.assignments->thaw();
    place.machine.resume();
  });
}

bool WorkerFaults::stop_process() {
  DatacenterPlace* const place = busy();
  if (place == nullptr) return false;
  home_.say(fmt::format("the process of {} is stopped", place->name));
  place->machine.pause();
  go_on_later(*place, home_.draw(kMinStop, kMaxStop));
  return true;
}

bool WorkerFaults::stop_machine() {
  DatacenterPlace* const place = busy();
  if (place == nullptr) return false;
  home_.say(fmt::format("the machine {} stands still", place->name));
  place->assignments->freeze();
  place->machine.pause();
  world_.network().isolate(place->machine);
  const Duration after = home_.draw(kMinStop, kMaxStop);
  world_.after(after, [this] { world_.network().heal(); });
  go_on_later(*place, after);
  return true;
}

void WorkerFaults::stutter(DatacenterPlace& place, Instant end) {
  if (world_.now() >= end) return;
  place.machine.pause();
  world_.after(home_.draw(Duration::millis(100), Duration::millis(900)), [this, &place, end, fault = slow_] {
    if (fault != slow_) return;
    place.machine.resume();
    // Most answers come after it has lost its turn again.
    world_.after(home_.draw(Duration::micros(100), Duration::millis(3)), [this, &place, end, fault] {
      if (fault == slow_) stutter(place, end);
    });
  });
}

bool WorkerFaults::slow_down() {
  DatacenterPlace* const place = busy();
  if (place == nullptr) return false;
  home_.say(place->name + " is slow");
  ++slow_;
  stutter(*place, world_.now() + home_.draw(kMinStop, kMaxSlow));
  return true;
}

bool WorkerFaults::slow_down_and_stop() {
  DatacenterPlace* const place = busy();
  if (place == nullptr) return false;
  home_.say(place->name + " is slow");
  stutter(*place, Instant::never());
  world_.after(home_.draw(kMinStop, Duration::seconds(4)), [this, place, fault = slow_] {
    if (fault != slow_) return;
    ++slow_;
    home_.say(fmt::format("the process of {} is stopped", place->name));
    place->machine.pause();
    go_on_later(*place, home_.draw(Duration::seconds(4), kMaxStop));
  });
  return true;
}

bool WorkerFaults::kill_child() {
  DatacenterPlace* const place = busy();
  if (place == nullptr || !place->assignments->kill_one(home_.prng())) return false;
  home_.say("the process of an assignment is killed on " + place->name);
  return true;
}

bool WorkerFaults::cut(bool inputs, bool outputs) {
  DatacenterPlace* const place = busy();
  if (place == nullptr) return false;
  home_.say(fmt::format("{} is cut off{}", place->name,
                        inputs && outputs ? ""
                        : inputs          ? " one way: nothing reaches it"
                                          : " one way: nothing leaves it"));
  for (const auto& other : places_) {
    if (other.get() == place) continue;
    if (inputs) world_.network().block(other->machine, place->machine);
    if (outputs) world_.network().block(place->machine, other->machine);
  }
  home_.heal_later();
  return true;
}

bool WorkerFaults::cut_from_owner() {
  DatacenterPlace* const place = busy();
  const DatacenterPlace* const by = owner();
  return place != nullptr && by != nullptr && home_.cut(place->machine, by->machine, true);
}

bool WorkerFaults::cut_from_workers() {
  DatacenterPlace* const place = busy();
  if (place == nullptr) return false;
  home_.say(place->name + " is cut off from the other workers");
  for (const auto& other : places_) {
    if (other.get() == place || other->kind != DatacenterPlace::Kind::kWorker) continue;
    world_.network().block_both_ways(place->machine, other->machine);
  }
  home_.heal_later();
  return true;
}

bool WorkerFaults::leave(bool kills_owner) {
  leaving_ = busy();
  kills_owner_ = kills_owner;
  if (leaving_ == nullptr || !home_.ask_to_leave(*leaving_)) return false;
  leaving_->stage->on_take_over = callback_to<&WorkerFaults::on_take_over>(*this);
  return true;
}

void WorkerFaults::on_take_over() {
  DatacenterPlace* const place = home_.prng().chance(0.3) ? busy() : leaving_;
  if (leaving_ == nullptr || place == nullptr) return;
  leaving_ = nullptr;
  const Duration after = home_.draw(Duration::zero(), Duration::millis(home_.prng().chance(0.7) ? 20 : 1'500));
  world_.after(after, [this, place] {
    DatacenterPlace* const by = owner();
    if (by == nullptr) return;
    if (kills_owner_) {
      home_.kill(by->machine);
    } else {
      home_.cut(place->machine, by->machine, true);
    }
  });
}

void WorkerFaults::end() {
  ++slow_;
  leaving_ = nullptr;
  for (const auto& place : places_) {
    if (place->assignments != nullptr) place->assignments->thaw();
  }
}

}  // namespace bellwether::sim
