#include "pipeline/nodes/host/live/pcm_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace runnel::pipeline {

Status PcmSource::prepare(NodeContext& context) noexcept {
  RUNNEL_TRY(open(context));
  input_.end_at(context.stop);
  for (const SampleCode code : kSampleCodes) {
    if (name_of(code) == format) code_ = code;
  }
  frame_bytes_ = bytes_of(code_) * static_cast<std::size_t>(channels);
  bytes_.resize(frame_bytes_ * static_cast<std::size_t>(context.max_input));
  Format& output = context.output;
  output.kind = Kind::audio;
  output.dtype = DType::float32;
  output.channels = channels;
  output.clock.sample_rate = rate;
  context.max_output = context.max_input;
  return {};
}

// A header piped in by mistake would be read as noise, without any error.
Status PcmSource::check_start() const noexcept {
  constexpr std::string_view kHeaders[] = {"RIFF", "fLaC", "OggS", "FORM", "caff"};
  const std::string_view start(reinterpret_cast<const char*>(bytes_.data()), std::min<std::size_t>(have_, 4));
  for (const std::string_view header : kHeaders) {
    if (start == header)
      return Status(Code::invalid_data)
             << input_.name() << ": begins with " << header
             << ", as a sound file does: expected samples without a header (`wav` reads files)";
  }
  return {};
}

Status PcmSource::check(std::int64_t frames) noexcept {
  if (code_ != SampleCode::float32) return {};
  const std::int64_t values = frames * channels;
  for (std::int64_t i = 0; i < values; ++i) {
    float value = 0;
    std::memcpy(&value, bytes_.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    if (std::isfinite(value)) continue;
    if (nan == "error")
      return Status(Code::invalid_data) << input_.name() << ": sample " << position_ + i / channels
                                        << " is infinite or not a number (nan=zero replaces such samples)";
    ++replaced_;
  }
  return {};
}

Status PcmSource::process(const Block&, Output& out) noexcept {
  const std::size_t most = static_cast<std::size_t>(out.capacity) * frame_bytes_;
  std::int64_t frames = 0;
  while (frames == 0) {
    RUNNEL_ASSIGN(const std::size_t count, read(std::span(bytes_).subspan(have_, most - have_)));
    have_ += count;
    if (count == 0) {
      if (have_ > 0 && truncated == "error" && !input_.was_stopped()) {
        return Status(Code::invalid_data) << input_.name() << ": ends " << have_ << " bytes into a frame of "
                                          << frame_bytes_ << " bytes (truncated=accept leaves them out)";
      }
      cut_ = have_;
      out.end = true;
      return {};
    }
    frames = static_cast<std::int64_t>(have_ / frame_bytes_);
  }
  if (position_ == 0) RUNNEL_TRY(check_start());
  RUNNEL_TRY(check(frames));
  to_float(code_, bytes_.data(), std::span(out.as<float>(), static_cast<std::size_t>(frames * channels)));
  out.count = frames;
  position_ += frames;
  const std::size_t used = static_cast<std::size_t>(frames) * frame_bytes_;
  std::memmove(bytes_.data(), bytes_.data() + used, have_ - used);
  have_ -= used;
  return {};
}

Text PcmSource::note() const noexcept {
  Text text;
  if (replaced_ > 0)
    text << input_.name() << ": " << replaced_ << " samples were infinite or not a number and became 0";
  if (cut_ > 0)
    text << (replaced_ > 0 ? "; " : "") << input_.name() << ": ended within a frame, " << cut_
         << " bytes were left out";
  return text;
}

}  // namespace runnel::pipeline
