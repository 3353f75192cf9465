// How the nodes of the world of registers hear from each other, change their set of replicas and read for it.
#include "cluster/register/codec.h"
#include "core/base/overloaded.h"
#include "sim/quorum/register_group.h"

namespace bellwether::sim {

// --- messages --------------------------------------------------------------------------------------------------------

void RegisterWorld::send(const RegisterNode& from, RegisterNode& to, decltype(RegisterWire::body) body,
                         uint64_t number) {
  network_->send(
      from.index, to.index,
      [this, &to, wire = RegisterWire{from.index, from.set.number, number, std::move(body)}] { deliver(to, wire); });
}

void RegisterWorld::receive(RegisterNode& n, const RegisterWire& wire) {
  RegisterNode& from = members_[wire.from];
  if (const auto* news = std::get_if<registers::SetIs>(&wire.body)) {
    if (news->set.number > n.set.number) return take_over(n, news->set);
    if (news->set.number < n.set.number) send(n, from, registers::SetIs{n.set});
    return;
  }
  if (wire.set != n.set.number) send(n, from, registers::SetIs{n.set});
  const bool is_old = wire.set < n.set.number;
  std::visit(Overloaded{
                 [&](const registers::Ask& ask) {
                   if (!is_old || is("old-sets-served")) to_acceptor(n, registers::Asked{from.id, ask});
                 },
                 [&](const registers::Answer& answer) {
                   to_owner(n, answer.key, registers::JobAnswered{from.id, answer});
                 },
                 [&](const registers::Freed& freed) { to_owner(n, freed.key, registers::JobFreed{}); },
                 [](const registers::SetIs&) {},
                 [&](const registers::ReadRecords& request) {
                   if (!is_old && n.kept.number >= wire.set) tell_records(n, from, request, wire.number);
                 },
                 [&](const registers::Records& records) { read_page(n, wire, records); },
                 [&](const registers::ReadSet&) {
                   send(n, from, registers::SetState{n.kept, is("step-2-early") ? n.kept.number : n.read});
                 },
                 [&](const registers::SetState& state) {
                   if (n.change) to_change(n, registers::SetStateIs{from.name, state});
                 },
             },
             wire.body);
}

// --- the set of replicas ---------------------------------------------------------------------------------------------

registers::ReplicaIds RegisterWorld::ids(const RegisterNode& n) {
  const auto of_names = [&](const std::vector<std::string>& names) {
    std::vector<registers::MemberId> ids;
    for (const std::string& name : names) {
      const RegisterNode& peer = of(name);
      const bool lives = peer.up && network_->is_open(n.index, peer.index);
      if (!is("live-majority") || &peer == &n || lives) ids.push_back(peer.id);
    }
    if (ids.empty() && !names.empty()) ids.push_back(n.id);
    return ids;
  };
  return {of_names(n.set.names), of_names(n.set.next)};
}

void RegisterWorld::take_over(RegisterNode& n, const ReplicaSet& set) {
  if (tracing()) say(n, "knows " + show(set));
  n.set = set;
  forget_pages(n);
  keep(n, set);
  for (auto& [key, owned] : n.owned) to_owner(n, key, registers::ReplicasAre{ids(n)});
  read_on(n, n.life, set.number);
}

std::string RegisterWorld::show(const ReplicaSet& set) {
  std::string text = fmt::format("set {}:", set.number);
  for (const std::string& name : set.names) text += " " + name;
  if (set.joint()) text += " ->";
  for (const std::string& name : set.next) text += " " + name;
  return text;
}

void RegisterWorld::decided(const ReplicaSet& set) {
  const auto [known, first] = sets_.try_emplace(set.number, set);
  if (known->second != set) fail("two sets of replicas: " + show(known->second) + ", and " + show(set));
  if (first) ++changes_made_;
  if (set.number <= newest_.number) return;
  newest_ = set;
  std::erase_if(pending_, [&](const ReplicaSet& one) { return one.number <= set.number; });
}

void RegisterWorld::on(RegisterNode& n, const registers::HaveSet& have) {
  decided(have.set);
  if (have.set.number > n.set.number) take_over(n, have.set);
}

void RegisterWorld::on(RegisterNode& n, const registers::WriteSet& write) {
  pending_.push_back(write.set);
  const uint64_t ticket = ++ticket_;
  const std::string value = message::encode(write.set);
  n.owned.at(kSetKey).operations[ticket] = {true, value, set_checker_.floor()};
  if (is("set-told-early")) take_over(n, write.set);
  to_owner(n, kSetKey, registers::WriteJob{ticket, value});
}

void RegisterWorld::on(RegisterNode& n, const registers::AskSetState& ask) {
  if (ask.to == n.name) {
    return to_change(n, registers::SetStateIs{n.name, {n.kept, n.read}});
  }
  send(n, of(ask.to), registers::SetIs{ask.set});
  send(n, of(ask.to), registers::ReadSet{});
}

void RegisterWorld::on(RegisterNode& n, const registers::SetDone& done) {
  settled_ = std::max(settled_, done.set.number);
  end_change(n);
}

void RegisterWorld::on(RegisterNode& n, const registers::SetFailed& failed) {
  say(n, failed.why.message);
  if (failed.why.code == Errc::kProtocol) fail("the register of the replicas went back: " + failed.why.message);
  end_change(n);
}

void RegisterWorld::end_change(RegisterNode& n) {
  to_owner(n, kSetKey, registers::GiveJobBack{});
  n.change_is_over = true;
}

// --- reading from other replicas -------------------------------------------------------------------------------------

void RegisterWorld::forget_pages(RegisterNode& n) {
  n.read_after.clear();
  n.read_from.clear();
  n.pages.clear();
}

void RegisterWorld::read_on(RegisterNode& n, uint32_t life, uint64_t number) {
  if (!n.up || n.life != life || n.set.number != number || !n.reads()) return;
  if (!n.paused) read_some(n);
  after(lease_ / 30, [this, &n, life, number] { read_on(n, life, number); });
}

void RegisterWorld::read_some(RegisterNode& n) {
  if (!n.reads() || n.kept.number != n.set.number) return;
  const auto is_read = [&](const std::string& name) { return name == n.name || n.read_from.contains(name); };
  const bool enough =
      is("reads-too-few") ? !n.read_from.empty() || has(n.set.names, n) : ReplicaSet::most(n.set.names, is_read);
  if (enough) return keep(n, HasRead{n.set.number});
  for (const std::string& name : n.set.names) {
    if (is_read(name)) continue;
    n.pages[++ticket_] = {name, {}, false, false};
    send(n, of(name), registers::ReadRecords{n.read_after[name]}, ticket_);
  }
}

void RegisterWorld::tell_records(RegisterNode& n, RegisterNode& to, const registers::ReadRecords& request,
                                 uint64_t number) {
  registers::Records records = n.acceptor->page(request.after);
  // In pages of one.
  records.more = records.records.size() > 1;
  if (records.more) records.records.resize(1);
  for (registers::RegisterRecord& record : records.records) {
    if (is("leases-unread")) record.longest_lease = {};
    if (is("promises-unread") && registers::writer_of(record) == quorum::kNobody) {
      record.promised = {record.accepted.fence, {}, 0};
    }
  }
  send(n, to, std::move(records), number);
}

void RegisterWorld::read_page(RegisterNode& n, const RegisterWire& wire, const registers::Records& records) {
  const auto page = n.pages.find(wire.number);
  if (page == n.pages.end() || page->second.answered) return;
  page->second.answered = true;
  page->second.more = records.more;
  if (!records.records.empty()) page->second.last = records.records.back().key;
  to_acceptor(n, registers::Learned{wire.number, records.records});
}

void RegisterWorld::on(RegisterNode& n, const registers::PageKept& kept) {
  const auto found = n.pages.find(kept.page);
  if (found == n.pages.end()) return;
  const RegisterNode::Page page = found->second;
  n.pages.erase(found);
  if (!kept.ok) return;
  if (page.more) {
    n.read_after[page.source] = page.last;
  } else {
    n.read_from.insert(page.source);
  }
  read_some(n);
}

}  // namespace bellwether::sim
