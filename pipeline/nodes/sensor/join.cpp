#include "pipeline/nodes/sensor/join.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&Join::method>("method", "exact|hold|linear",
                                  "values between two frames: exact: not needed, all inputs have one rate; "
                                  "hold: the values of the earlier frame; linear: interpolated"),
    text_parameter<&Join::align>("align", "start|time",
                                 "what counts as the same time: the first samples, or equal time stamps"),
    text_parameter<&Join::end>(
        "end", "shortest|hold|zeros",
        "when an input other than the first ends: the output ends too, or uses its last values or zeros"),
    parameter<&Join::buffer>("buffer", "s", 0.001, 3600, "how far one input may be ahead of another"),
};

// A long gap is reported in parts of this many frames, so that a run can be stopped within it.
constexpr std::int64_t kMaxLost = 1 << 16;
constexpr std::int64_t kMaxBuffer = std::int64_t{1} << 28;  // bytes

}  // namespace

// ---- input
// ---------------------------------------------------------------------------------------------------------

const NodeType JoinInput::type = {
    .name = "join input",
    .help = "The end of a joined stream.",
    .input = {Kind::audio | Kind::frames, "float32"},
    .output = {},
    .parameters = {},
    .make = make_node<JoinInput>,
};

Status JoinInput::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(wants_float32(context));
  format_ = context.input;
  label_ = context.input_label;
  const double frames =
      std::ceil(buffer * format_.clock.hz()) + 2 * static_cast<double>(context.max_input) + 2;
  if (!(frames * static_cast<double>(format_.channels) <= static_cast<double>(kMaxBuffer / 4))) {
    return Status(Code::invalid_argument) << "buffer=" << shortest_text(buffer).view() << " s: more than "
                                          << kMaxBuffer << " bytes of " << describe(format_).view();
  }
  capacity_ = static_cast<std::int64_t>(frames);
  frames_ = context.memory.array<float>(static_cast<std::size_t>(capacity_ * format_.channels));
  indices_ = context.memory.array<std::int64_t>(static_cast<std::size_t>(capacity_));
  if (frames_ == nullptr || indices_ == nullptr) return out_of_memory("the streams to be joined");
  std::fill_n(indices_, capacity_, -1);
  return {};
}

std::int64_t JoinInput::reset(std::int64_t first) noexcept {
  known_ = first;
  return first;
}

Status JoinInput::process(const Block& in, Output&) noexcept {
  if (closed_) return {};
  const auto channels = static_cast<std::size_t>(format_.channels);
  for (std::int64_t i = 0; i < in.count; ++i) {
    const std::int64_t index = in.first + i, place = index % capacity_;
    if (indices_[place] >= 0 && indices_[place] >= needed_) {
      return Status(Code::unsupported) << label_ << " is more than " << shortest_text(buffer).view()
                                       << " s ahead of another input of the join (buffer= allows more)";
    }
    std::copy_n(in.as<float>() + static_cast<std::size_t>(i) * channels, channels,
                frames_ + static_cast<std::size_t>(place) * channels);
    indices_[place] = last_ = index;
  }
  known_ = in.first + in.count;
  return {};
}

const float* JoinInput::frame(std::int64_t index) const noexcept {
  if (index < 0 || indices_[index % capacity_] != index) return nullptr;
  return frames_ + static_cast<std::size_t>(index % capacity_ * format_.channels);
}

// ---- join
// ----------------------------------------------------------------------------------------------------------

const NodeType Join::type = {
    .name = "join",
    .help = "Joins streams on the clock of the first one: further inputs end in `NAME.`.",
    .input = {Kind::audio | Kind::frames, "float32, two or more streams"},
    .output = {Kind::audio | Kind::frames, "float32, the channels of all inputs"},
    .parameters = kParameters,
    .make = make_node<Join>,
    .joins = true,
};

Status Join::add_input(Executor& from, JoinInput& input) noexcept {
  if (count_ == kMaxInputs) return Status(Code::unsupported) << "join: more than " << kMaxInputs << " inputs";
  inputs_[count_].from = &from;
  inputs_[count_++].stream = &input;
  return {};
}

Status Join::align_input(Input& input) const noexcept {
  const Format &first = inputs_[0].stream->format(), &other = input.stream->format();
  std::int64_t offset = 0;
  if (align == "time") {
    for (const Input* one : {&inputs_[0], static_cast<const Input*>(&input)}) {
      if (one->stream->format().origin != Format::kNoOrigin) continue;
      return Status(Code::mismatch) << "align=time: " << one->stream->label()
                                    << " has no time stamps, expected a source that has (csv time=COLUMN)";
    }
    if (__builtin_sub_overflow(other.origin, first.origin, &offset))
      return Status(Code::mismatch, "align=time: the time stamps are too far apart");
  }
  Result<FramePosition> position = FramePosition::make(first.clock, other.clock, offset);
  if (!position.ok()) return position.status().at(input.stream->label());
  input.position = *position;
  input.stream->release(input.position.floor());
  if (method != "exact" || input.position.one_to_one()) return {};
  Status status(Code::mismatch);
  status << inputs_[0].stream->label() << " gives " << describe(first).view() << ", " << input.stream->label()
         << " gives " << describe(other).view();
  if (first.clock.hz() != other.clock.hz()) {
    return std::move(status) << "; method=exact wants one rate: put `resample` before the join, or take "
                                "method=hold or method=linear";
  }
  return std::move(status) << ", between its frames; method=exact wants them at the same times: take "
                              "method=hold or method=linear";
}

Status Join::prepare(NodeContext& context) noexcept {
  if (count_ < 2)
    return Status(Code::invalid_argument) << "join has " << count_ << (count_ == 1 ? " input" : " inputs")
                                          << ", expected 2 or more: a further one ends in `! NAME.`";
  linear_ = method == "linear";
  Format& format = context.output;
  format = inputs_[0].stream->format();
  std::int64_t channels = 0;
  for (int k = 0; k < count_; ++k) {
    RUNNEL_TRY(align_input(inputs_[k]));
    channels += inputs_[k].stream->format().channels;
  }
  if (channels > 1 << 20)
    return Status(Code::unsupported) << channels << " values per frame, expected at most " << (1 << 20);
  format.channels = static_cast<std::int32_t>(channels);
  format.labels = {};
  context.max_output = context.max_input;
  return {};
}

// One step of the executor that feeds an input, and its effect on all inputs that it feeds.
Status Join::pull(const Input& input) noexcept {
  Executor* const from = input.from;
  bool done = false;
  RUNNEL_TRY(from->step(done));
  for (int k = 0; done && k < count_; ++k) inputs_[k].ended = inputs_[k].ended || inputs_[k].from == from;
  return {};
}

Join::Found Join::read(const Input& input, float* to) const noexcept {
  const JoinInput& stream = *input.stream;
  const auto channels = static_cast<std::size_t>(stream.format().channels);
  const std::int64_t at = input.position.floor();
  const bool between = linear_ && !input.position.whole();
  const bool first = &input == &inputs_[0];
  if (at < 0) return Found::missing;
  if (at + (between ? 1 : 0) >= stream.known()) {
    if (!input.ended) return Found::wait;
    if (first || end == "shortest") return Found::nothing_more;
    const float* last = stream.last();
    if (end == "hold" && last != nullptr)
      std::copy_n(last, channels, to);
    else
      std::fill_n(to, channels, 0.0F);
    return Found::values;
  }
  const float *a = stream.frame(at), *b = between ? stream.frame(at + 1) : a;
  if (a == nullptr || b == nullptr) return Found::missing;
  const auto weight = static_cast<float>(input.position.fraction());
  for (std::size_t c = 0; c < channels; ++c) to[c] = between ? a[c] + (b[c] - a[c]) * weight : a[c];
  return Found::values;
}

// `lagging`: with Found::wait, the input that must advance.
Join::Found Join::read_all(float* to, const Input*& lagging) const noexcept {
  Found all = Found::values;
  for (int k = 0; k < count_; ++k) {
    const Found found = read(inputs_[k], to);
    to += inputs_[k].stream->format().channels;
    if (found == Found::nothing_more) return found;
    if (found == Found::wait) {
      lagging = &inputs_[k];
      return found;
    }
    if (found == Found::missing) all = found;
  }
  return all;
}

void Join::advance() noexcept {
  for (int k = 0; k < count_; ++k) {
    inputs_[k].position.advance();
    inputs_[k].stream->release(inputs_[k].position.floor());
  }
}

Status Join::process(const Block&, Output& out) noexcept {
  std::size_t channels = 0;
  for (int k = 0; k < count_; ++k) channels += static_cast<std::size_t>(inputs_[k].stream->format().channels);
  while (out.count < out.capacity && out.lost < kMaxLost) {
    const Input* lagging = nullptr;
    switch (read_all(out.as<float>() + static_cast<std::size_t>(out.count) * channels, lagging)) {
      case Found::wait:
        RUNNEL_TRY(pull(*lagging));
        continue;
      case Found::nothing_more:
        out.end = true;
        return {};
      case Found::missing:
        if (out.count > 0) return {};
        ++out.lost;
        break;
      case Found::values:
        ++out.count;
        break;
    }
    advance();
  }
  return {};
}

Status Join::finish() noexcept {
  for (int k = 0; k < count_; ++k) inputs_[k].stream->close();
  for (int k = 0; k < count_; ++k) RUNNEL_TRY(inputs_[k].from->end());
  return {};
}

}  // namespace runnel::pipeline
