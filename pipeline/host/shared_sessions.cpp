#include "pipeline/host/shared_sessions.h"

#include <algorithm>
#include <bit>

namespace runnel::pipeline {
namespace {

// The options that nodes set; the others keep their defaults.
bool same(const PrepareOptions& a, const PrepareOptions& b) noexcept {
  return a.mode == b.mode && a.frames == b.frames && a.least == b.least && a.most == b.most &&
         a.isa == b.isa && a.slack == b.slack && a.fast_bytes == b.fast_bytes;
}

}  // namespace

Result<const Prepared*> SharedSessions::prepare(const Model& model, OperatorTable operators,
                                                const PrepareOptions& options) noexcept {
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

SharedSessions::Shared* SharedSessions::find(const Prepared& prepared) noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [&](const auto& shared) { return shared->prepared == &prepared; });
  return found == all_.end() ? nullptr : found->get();
}

Result<SessionGroup*> SharedSessions::over_states_of(const Place& place, const Prepared& prepared) noexcept {
  Shared* const shared = find(prepared);
  if (shared == nullptr)
    return Status(Code::invalid_argument, "sessions of a model that was prepared elsewhere");
  if (shared->group == nullptr) {
    RUNNEL_ASSIGN(SessionGroup group,
                  SessionGroup::make(prepared, sessions_, kSeats, shared->memory, place.group));
    shared->group = std::make_unique<SessionGroup>(group);
  }
  return shared->group.get();
}

Result<SharedSessions::Place> SharedSessions::take(const Prepared& prepared) noexcept {
  Shared* const found = find(prepared);
  if (found == nullptr)
    return Status(Code::invalid_argument, "a session of a model that was prepared elsewhere");
  Shared& shared = *found;
  if (shared.group == nullptr) {
    RUNNEL_ASSIGN(SessionGroup group, SessionGroup::make(prepared, sessions_, kSeats, shared.memory));
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

std::shared_ptr<const GraphText> SharedSessions::share(const GraphText& text) {
  std::erase_if(texts_, [](const Text& kept) { return kept.text.expired(); });
  for (const Text& kept : texts_) {
    if (std::shared_ptr<const GraphText> same = kept.text.lock(); *same == text) return same;
  }
  auto shared = std::make_shared<const GraphText>(text);
  texts_.push_back({shared});
  return shared;
}

std::size_t SharedSessions::bytes_of(const GraphText& text) const noexcept {
  const auto found = std::find_if(texts_.begin(), texts_.end(),
                                  [&](const Text& kept) { return kept.text.lock().get() == &text; });
  return found == texts_.end() ? 0 : found->bytes;
}

void SharedSessions::took(const GraphText& text, std::size_t bytes) noexcept {
  for (Text& kept : texts_) {
    if (kept.text.lock().get() == &text) kept.bytes = bytes;
  }
}

std::byte* SharedSessions::buffer(int stage, std::size_t bytes) noexcept {
  const std::size_t size = std::bit_ceil(bytes);
  const auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
    return buffer.stage == stage && buffer.bytes == size;
  });
  if (found != buffers_.end()) return found->data;
  auto* const data = static_cast<std::byte*>(work_.allocate(size, 64));
  if (data != nullptr) buffers_.push_back({stage, size, data});
  return data;
}

Result<const features::Fbank*> SharedSessions::front_end(const features::FbankOptions& options,
                                                         Isa isa) noexcept {
  if (options.fft != features::FftChoice::own)
    return Status(Code::unsupported, "front ends share no transform but runnel's own");
  for (const auto& made : front_ends_) {
    if (made->isa == isa && made->fbank.options() == options) return &made->fbank;
  }
  RUNNEL_ASSIGN(features::Fbank fbank, features::Fbank::make(options, isa, work_));
  front_ends_.push_back(std::make_unique<FrontEnd>(FrontEnd{isa, std::move(fbank)}));
  return &front_ends_.back()->fbank;
}

std::size_t SharedSessions::memory_bytes() const noexcept {
  std::size_t bytes = work_.used();
  for (const auto& shared : all_) bytes += shared->memory.used();
  return bytes;
}

}  // namespace runnel::pipeline
