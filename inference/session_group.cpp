#include "inference/session_group.h"

#include <algorithm>
#include <new>

namespace runnel {

Result<SessionGroup> SessionGroup::make(const Prepared& prepared, std::size_t count,
                                        Memory& memory) noexcept {
  SessionGroup group;
  group.prepared_ = &prepared;
  RUNNEL_ASSIGN(const StateSlab slab, StateSlab::make(prepared, count, memory));
  RUNNEL_ASSIGN(const std::span<Workspace> workspaces, Workspace::make_many(prepared, count, memory, memory));
  auto* sessions = static_cast<Session*>(memory.allocate(count * sizeof(Session), alignof(Session)));
  group.contexts_ = memory.array<RunContext>(kTogether);
  group.gating_ = memory.array<bool>(kTogether);
  group.all_ = memory.array<Turn>(count);
  if (sessions == nullptr || group.contexts_ == nullptr || group.gating_ == nullptr ||
      group.all_ == nullptr) {
    return Status(Code::out_of_memory) << "no memory for a group of " << count << " sessions";
  }
  for (std::size_t i = 0; i < count; ++i) {
    RUNNEL_ASSIGN(const Session session, Session::make(prepared, workspaces[i], slab.state(i)));
    new (sessions + i) Session(session);
    group.all_[i] = {static_cast<std::uint32_t>(i), prepared.block()};
  }
  group.sessions_ = {sessions, count};
  return group;
}

void SessionGroup::run() noexcept { run({all_, sessions_.size()}); }

void SessionGroup::run(std::span<const Turn> turns) noexcept {
  for (std::size_t first = 0; first < turns.size(); first += kTogether) {
    run_together(turns.subspan(first, std::min(kTogether, turns.size() - first)));
  }
}

void SessionGroup::run_together(std::span<const Turn> turns) noexcept {
  const Prepared& prepared = *prepared_;
  bool any_gating = false;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Session& session = sessions_[turns[i].session];
    gating_[i] = session.start(turns[i].valid);
    any_gating = any_gating || gating_[i];
    contexts_[i] = session.context();
  }
  const int count = static_cast<int>(turns.size());
  for (int s = 0; s < prepared.tables_.step_count; ++s) {
    const Prepared::Step& step = prepared.tables_.steps[s];
    const BoundOperator& bound = *step.bound;
    if (bound.run_together != nullptr) {
      bound.run_together(bound, contexts_, count);
    } else {
      for (int i = 0; i < count; ++i) bound.run(bound, contexts_[i]);
    }
    if (!any_gating || step.gates == 0) continue;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (!gating_[i]) continue;
      for (int g = 0; g < step.gates; ++g)
        sessions_[turns[i].session].gate(prepared.tables_.gates[step.first_gate + g]);
    }
  }
  for (const Turn& turn : turns) sessions_[turn.session].finish();
}

}  // namespace runnel
