#include "pipeline/host/shared_sessions.h"

#include <algorithm>

namespace runnel::pipeline {
namespace {

// What nodes choose; the rest are defaults.
bool same(const PrepareOptions& a, const PrepareOptions& b) noexcept {
  return a.mode == b.mode && a.frames == b.frames && a.isa == b.isa && a.slack == b.slack && a.fast_bytes == b.fast_bytes;
}

}  // namespace

Result<const Prepared*> SharedSessions::prepare(const Model& model, OperatorTable operators, const PrepareOptions& options) noexcept {
  for (const auto& shared : all_) {
    if (shared->model == &model && same(shared->options, options)) return shared->prepared;
  }
  auto made = std::make_unique<Shared>();
  made->model = &model;
  made->options = options;
  RUNNEL_ASSIGN(made->prepared, Prepared::make(model, operators, options, made->memory));
  all_.push_back(std::move(made));
  return all_.back()->prepared;
}

Result<SharedSessions::Place> SharedSessions::take(const Prepared& prepared) noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& shared) { return shared->prepared == &prepared; });
  if (found == all_.end()) return Status(Code::invalid_argument, "a session of a model that was prepared elsewhere");
  Shared& shared = **found;
  if (shared.group == nullptr) {
    RUNNEL_ASSIGN(SessionGroup group, SessionGroup::make(prepared, sessions_, shared.memory));
    shared.group = std::make_unique<SessionGroup>(group);
    for (std::size_t i = sessions_; i-- > 0;) shared.free.push_back(static_cast<std::uint32_t>(i));
  }
  if (shared.free.empty()) return Status(Code::out_of_memory) << "all " << sessions_ << " sessions are taken";
  const Place place{shared.group.get(), shared.free.back()};
  shared.free.pop_back();
  return place;
}

void SharedSessions::give_back(Place place) noexcept {
  for (const auto& shared : all_) {
    if (shared->group.get() == place.group) shared->free.push_back(place.index);
  }
}

std::size_t SharedSessions::memory_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& shared : all_) bytes += shared->memory.used();
  return bytes;
}

}  // namespace runnel::pipeline
