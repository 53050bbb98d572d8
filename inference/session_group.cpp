#include "inference/session_group.h"

#include <algorithm>
#include <new>

namespace runnel {

Result<SessionGroup> SessionGroup::make(const Prepared& prepared, std::size_t count, std::size_t seats,
                                        Memory& memory, const SessionGroup* states) noexcept {
  SessionGroup group;
  group.prepared_ = &prepared;
  if ((count > 0 && seats == 0) || (states != nullptr && states->count() != count)) {
    return Status(Code::invalid_argument)
           << "a group of " << count << " sessions with " << seats << " seats and states of "
           << (states == nullptr ? count : states->count())
           << " sessions, expected at least one seat and as many states as sessions";
  }
  StateSlab slab;
  if (states == nullptr) {
    RUNNEL_ASSIGN(slab, StateSlab::make(prepared, count, memory));
  }
  RUNNEL_ASSIGN(group.seats_, Workspace::make_many(prepared, seats, memory, memory));
  auto* sessions = static_cast<Session*>(memory.allocate(count * sizeof(Session), alignof(Session)));
  group.contexts_ = memory.array<RunContext>(kTogether);
  group.gating_ = memory.array<bool>(kTogether);
  if (sessions == nullptr || group.contexts_ == nullptr || group.gating_ == nullptr)
    return Status(Code::out_of_memory) << "no memory for a group of " << count << " sessions";
  for (std::size_t i = 0; i < count; ++i) {
    Workspace& seat = group.seats_[i % seats];
    RUNNEL_ASSIGN(const Session session, states == nullptr
                                             ? Session::make(prepared, seat, slab.state(i))
                                             : Session::make(prepared, seat, states->sessions_[i]));
    new (sessions + i) Session(session);
  }
  group.sessions_ = {sessions, count};
  return group;
}

void SessionGroup::run() noexcept {
  Turn turns[kTogether];
  for (std::size_t first = 0; first < sessions_.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, sessions_.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      turns[i] = {static_cast<std::uint32_t>(first + i), prepared_->block()};
    run_together({turns, count});
  }
}

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
