#include "pipeline/nodes/decode/decoder.h"

#include <algorithm>

#include "kernels/arithmetic/requantize.h"

namespace runnel::pipeline {
namespace {

constexpr std::int64_t kMostFrames = decoding::kMostFrames;

// Seconds in frames, to the nearest; 0 stays 0, more is at least one.
std::int32_t frames_of(double seconds, const Clock& clock) noexcept {
  if (seconds <= 0) return 0;
  const double frames = seconds * clock.hz() + 0.5;
  if (frames < 1) return 1;
  return frames < static_cast<double>(kMostFrames) ? static_cast<std::int32_t>(frames)
                                                   : static_cast<std::int32_t>(kMostFrames);
}

}  // namespace

Status Decoder::read_tables(NodeContext& context, std::int32_t) noexcept {
  if (tokens.empty()) return {};
  return Status(Code::unsupported) << "tokens=" << tokens << ": " << context.label
                                   << " cannot read files in this program, expected the labels of a model";
}

// The labels of the model as tokens.
Status Decoder::own_tables(NodeContext& context, std::int32_t classes) noexcept {
  const std::span<const std::string_view> labels = context.input.labels;
  if (labels.empty())
    return Status(Code::invalid_argument)
           << context.input_label << " gives no labels: expected tokens=FILE, a token a line";
  if (labels.size() != static_cast<std::size_t>(classes))
    return Status(Code::mismatch) << context.input_label << " gives " << classes
                                  << " classes, but its model names " << labels.size() << " labels";
  own_.vocabulary.pieces = labels;
  own_.vocabulary.blank = decoding::find_blank(labels, blank);
  if (own_.vocabulary.blank < 0) return decoding::no_such_blank(blank, labels.size());
  own_.vocabulary.units = decoding::units_of(labels);
  for (const decoding::Units one : {decoding::Units::pieces, decoding::Units::characters,
                                    decoding::Units::words, decoding::Units::joined})
    if (name_of(one) == units) own_.vocabulary.units = one;
  tables = &own_;
  return {};
}

Status Decoder::prepare_tables(NodeContext& context, std::int32_t classes) noexcept {
  const Format& input = context.input;
  if (input.codes ||
      (input.dtype != DType::float32 && input.dtype != DType::int8 && input.dtype != DType::int16))
    return Status(Code::mismatch) << context.input_label << " gives " << describe(input).view() << ", "
                                  << context.label << " wants float32, int8 or int16";
  dtype_ = input.dtype;
  scale_ = dtype_ == DType::float32 ? 1.0f : kernels::power_of_two(input.exponent);
  frame_bytes_ = input.frame_bytes();
  channels_ = input.channels;
  label_ = context.label;
  voice_ = endpoint == "voice";
  voice_level_ = static_cast<float>(voice_threshold);
  refuse_ = non_finite == "error";
  if (tables == nullptr) RUNNEL_TRY(read_tables(context, classes));
  if (tables == nullptr) RUNNEL_TRY(own_tables(context, classes));
  if (tables->vocabulary.size() != classes)
    return Status(Code::mismatch) << context.input_label << " gives " << classes << " classes, "
                                  << context.label << " has " << tables->vocabulary.size() << " tokens";
  return {};
}

Status Decoder::set_times(NodeContext& context) noexcept {
  const Clock& clock = context.input.clock;
  decoding::EndpointSettings settings;
  if (endpoint != "none") {
    settings.silence_before = frames_of(silence_before, clock);
    settings.silence_after = frames_of(silence_after, clock);
  }
  settings.longest = frames_of(longest, clock);
  if (settings.longest == 0) settings.longest = static_cast<std::int32_t>(kMostFrames);
  endpoint_ = decoding::Endpoint(settings);
  partial_frames_ = frames_of(partials, clock);
  // An utterance has at least as many frames as the shortest of its ends asks for.
  std::int64_t shortest = std::min<std::int64_t>(settings.longest, max_tokens);
  for (const std::int32_t silence : {settings.silence_after, settings.silence_before})
    if (silence > 0) shortest = std::min<std::int64_t>(shortest, silence);
  context.max_output = context.max_input / shortest + 1;
  if (partial_frames_ > 0) context.max_output += context.max_input / partial_frames_ + 1;
  return {};
}

Status Decoder::make_ready(NodeContext& context) noexcept {
  RUNNEL_TRY(set_times(context));
  values_ = context.memory.array<float>(static_cast<std::size_t>(channels_));
  shown_ = context.memory.array<std::int32_t>(static_cast<std::size_t>(max_tokens));
  if (values_ == nullptr || shown_ == nullptr) return out_of_memory("the tokens of an utterance");
  RUNNEL_TRY(writer_.prepare(context.memory, *tables, context.input.clock,
                             static_cast<std::int32_t>(max_tokens), context.max_output));
  context.output.kind = Kind::events;
  context.output.dtype = DType::none;
  context.output.channels = 0;
  context.output.exponent = 0;
  context.output.labels = {};
  return {};
}

std::int64_t Decoder::reset(std::int64_t first) noexcept {
  // Utterances keep counting over a gap.
  if (first == 0) segment_ = 0;
  first_ = next_ = first;
  started_ = false;
  shown_any_ = false;
  shown_count_ = 0;
  endpoint_.restart();
  restart_search();
  return 0;  // events have no index of their own
}

std::span<const float> Decoder::read(const std::byte* frame) noexcept {
  const std::size_t count = static_cast<std::size_t>(channels_);
  const auto take = [&](const auto* from) {
    for (std::size_t c = 0; c < count; ++c) values_[c] = static_cast<float>(from[c]) * scale_;
  };
  if (dtype_ == DType::float32) return {reinterpret_cast<const float*>(frame), count};
  if (dtype_ == DType::int8)
    take(reinterpret_cast<const std::int8_t*>(frame));
  else
    take(reinterpret_cast<const std::int16_t*>(frame));
  return {values_, count};
}

void Decoder::give(const Found& found, bool final, std::int64_t frame, Output& out) noexcept {
  out.as<Event>()[out.count++] = writer_.write(
      found.tokens,
      {.segment = segment_, .first = first_, .frame = frame, .final = final, .settled = found.settled});
}

// The final result: with words, or after a partial one, which it replaces.
void Decoder::end_utterance(std::int64_t frame, Output& out) noexcept {
  const Found result = found(true);
  if (!result.tokens.empty() || shown_any_) {
    give(result, true, frame, out);
    ++segment_;
  }
  next_utterance(!reset_decoder);
  endpoint_.restart();
  first_ = frame + 1;
  shown_any_ = false;
  shown_count_ = 0;
}

// A partial result, if the tokens have changed since the last one.
void Decoder::show(std::int64_t frame, Output& out) noexcept {
  const Found result = found(false);
  bool same = result.tokens.size() == static_cast<std::size_t>(shown_count_);
  for (std::size_t i = 0; i < result.tokens.size(); ++i) {
    same = same && shown_[i] == result.tokens[i].token;
    shown_[i] = result.tokens[i].token;
  }
  shown_count_ = static_cast<std::int32_t>(result.tokens.size());
  if (same) return;
  shown_any_ = true;
  give(result, false, frame, out);
}

Status Decoder::process(const Block& in, Output& out) noexcept {
  writer_.rewind();
  const std::byte* data = in.data;
  for (std::int64_t i = 0; i < in.count; ++i, data += frame_bytes_) {
    const std::int64_t frame = in.first + i;
    if (!started_) first_ = frame;
    started_ = true;
    next_ = frame + 1;
    const auto within = static_cast<std::int32_t>(frame - first_);
    const std::span<const float> values = read(data);
    bool silent = false;
    if (!step(values.first(values.size() - (voice_ ? 1 : 0)), within, silent)) {
      if (refuse_)
        return Status(Code::invalid_data) << "frame " << frame
                                          << " has a value that is not a number or plus infinity, or no "
                                             "token that can be; expected logits";
      ++replaced_;
      step_blank(within);
      silent = true;
    }
    // A detector that is not a number hears nothing.
    if (voice_) silent = !(values.back() >= voice_level_);
    const bool ends = endpoint_.ends(silent, heard_any());
    if (ends || full())
      end_utterance(frame, out);
    else if (partial_frames_ > 0 && (within + 1) % partial_frames_ == 0)
      show(frame, out);
  }
  return {};
}

Status Decoder::flush(Output& out) noexcept {
  writer_.rewind();
  out.end = true;
  if (started_) end_utterance(next_ - 1, out);
  started_ = false;
  return {};
}

Text Decoder::note() const noexcept {
  Text text;
  if (replaced_ > 0)
    text << label_ << ": " << replaced_ << (replaced_ == 1 ? " frame" : " frames")
         << " with values that are not a number or infinite were taken as blank";
  return text;
}

}  // namespace runnel::pipeline
