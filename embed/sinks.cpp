#include "embed/sinks.h"

#include <algorithm>

#include "pipeline/transcript.h"

namespace runnel::embed {

using pipeline::Kind;
using pipeline::Kinds;

const pipeline::NodeType EventQueue::type = {.name = "events",
                                             .help = {},
                                             .input = {static_cast<Kinds>(Kind::events), {}},
                                             .output = {},
                                             .parameters = {},
                                             .make = nullptr};
const pipeline::NodeType FrameTap::type = {.name = "frames",
                                           .help = {},
                                           .input = {Kind::frames | Kind::audio, {}},
                                           .output = {},
                                           .parameters = {},
                                           .make = nullptr};

Status EventQueue::prepare(pipeline::NodeContext& context) noexcept {
  ring_ = context.memory.array<runnel_event>(static_cast<std::size_t>(room));
  // Decoders of speech have no labels: their texts are kept with the decisions.
  if (ring_ != nullptr && context.input.labels.empty())
    texts_ = context.memory.array<char>(static_cast<std::size_t>(room) * RUNNEL_TEXT_BYTES);
  const bool exhausted = ring_ == nullptr || (context.input.labels.empty() && texts_ == nullptr);
  return exhausted ? pipeline::out_of_memory("the decisions that wait") : Status();
}

int EventQueue::index_of(std::string_view label) const noexcept {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (label == labels[i]) return static_cast<int>(i);
  }
  return -1;
}

// A text that does not fit ends with its last whole character of UTF-8.
const char* EventQueue::keep(std::string_view text, int place) noexcept {
  if (texts_ == nullptr) return "";
  char* const to = texts_ + static_cast<std::size_t>(place) * RUNNEL_TEXT_BYTES;
  std::size_t size = std::min<std::size_t>(text.size(), RUNNEL_TEXT_BYTES - 1);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0u) == 0x80u) --size;
  std::copy_n(text.data(), size, to);
  to[size] = '\0';
  return to;
}

Status EventQueue::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  const auto* events = in.as<pipeline::Event>();
  for (std::int64_t i = 0; i < in.count; ++i) {
    if (pipeline::is_partial(events[i])) continue;
    const int index = index_of(events[i].label);
    if (count_ == room) {
      first_ = (first_ + 1) % room;
      --count_;
      ++dropped_;
    }
    const int place = (first_ + count_++) % room;
    ring_[place] = {index < 0 ? keep(events[i].label, place) : labels[static_cast<std::size_t>(index)],
                    index,
                    events[i].score,
                    events[i].begin,
                    events[i].end,
                    events[i].frame};
  }
  return {};
}

bool EventQueue::fetch(runnel_event& event) noexcept {
  if (count_ == 0) return false;
  event = ring_[first_];
  first_ = (first_ + 1) % room;
  --count_;
  return true;
}

void EventQueue::forget() noexcept {
  first_ = count_ = 0;
  dropped_ = 0;
}

Status FrameTap::prepare(pipeline::NodeContext& context) noexcept {
  frame_bytes_ = context.input.frame_bytes();
  return {};
}

Status FrameTap::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  function(user, stage, in.data, static_cast<std::size_t>(in.count), frame_bytes_, in.first);
  return {};
}

}  // namespace runnel::embed
