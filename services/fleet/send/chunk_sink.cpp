#include "services/fleet/send/chunk_sink.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace runnel::fleet {
namespace {

using std::chrono::nanoseconds;

std::int64_t now_since_1970() {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::int64_t nanoseconds_of(std::int64_t samples, std::int64_t rate) {
  return samples / rate * 1000000000 + samples % rate * 1000000000 / rate;
}

}  // namespace

const pipeline::NodeType ChunkSink::type = {
    .name = "chunks",
    .help = "Gives samples to a sender.",
    .input = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "float32"},
    .output = {},
    .parameters = {},
    .make = pipeline::make_node<ChunkSink>};

Status ChunkSink::prepare(pipeline::NodeContext& context) noexcept {
  const pipeline::Format& input = context.input;
  if (input.dtype != DType::float32)
    return Status(Code::invalid_argument)
           << context.input_label << ": expected samples, found " << describe(input).view();
  if (input.clock.rate() != input.clock.sample_rate || input.clock.sample_rate > 768000)
    return Status(Code::invalid_argument)
           << context.input_label
           << ": expected a whole number of samples per second up to 768000, which a chunk can carry";
  if (input.channels < 1 || input.channels > 8)
    return Status(Code::invalid_argument) << context.input_label << ": " << input.channels
                                          << " channels, expected 1 to 8, which a chunk can carry";
  format_.rate = input.clock.sample_rate;
  format_.channels = input.channels;
  if (input.origin != pipeline::Format::kNoOrigin && input.origin > 0) origin_ = input.origin;
  return {};
}

Status ChunkSink::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  try {
    if (!begun_) {
      begun_ = true;
      format_.code = settings_.code;
      most_ = std::clamp<std::int64_t>(
          static_cast<std::int64_t>(settings_.seconds * static_cast<double>(format_.rate)), 1,
          static_cast<std::int64_t>(Chunk::kMostBytes / 4 / format_.frame_bytes()));
      next_ = settings_.from;
      paced_from_ = settings_.from;
      started_ = std::chrono::steady_clock::now();
    }
    const std::int64_t skip = std::clamp<std::int64_t>(settings_.from - in.first, 0, in.count);
    if (skip == in.count) return {};
    const std::int64_t first = in.first + skip;
    if (first != next_) {
      RUNNEL_TRY(give(false));
      next_ = first;
    }
    return take(in.as<float>() + skip * format_.channels, in.count - skip);
  } catch (const std::exception&) {
    return pipeline::out_of_memory("a piece of a stream");
  }
}

Status ChunkSink::take(const float* samples, std::int64_t count) {
  while (count > 0) {
    const std::int64_t now = std::min(count, most_ - piece_.chunk.samples);
    if (piece_.chunk.samples == 0) piece_.chunk.first = next_;
    const std::size_t before = piece_.data.size();
    const auto values = static_cast<std::size_t>(now * format_.channels);
    piece_.data.resize(before + static_cast<std::size_t>(now) * format_.frame_bytes());
    pipeline::from_float(format_.code, {samples, values}, piece_.data.data() + before);
    piece_.chunk.samples += now;
    next_ += now;
    samples += values;
    count -= now;
    if (piece_.chunk.samples == most_) RUNNEL_TRY(give(false));
  }
  return {};
}

Status ChunkSink::give(bool end) {
  Chunk& chunk = piece_.chunk;
  if (stopped_ || (chunk.samples == 0 && !end)) return {};
  if (chunk.samples == 0) chunk.first = next_;
  chunk.format = format_;
  chunk.run = settings_.run;
  chunk.end = end;
  if (settings_.timed)
    chunk.time = std::max<std::int64_t>(now_since_1970() - nanoseconds_of(chunk.samples, format_.rate), 0);
  else if (origin_ > 0)
    chunk.time = origin_ + nanoseconds_of(chunk.first, format_.rate);
  if (settings_.real_pace) wait_until(chunk.first + chunk.samples);
  RUNNEL_ASSIGN(const bool taken, settings_.lane->put(piece_, settings_.waits || end, settings_.stop));
  stopped_ = !taken;
  complete_ = complete_ || (taken && end);
  piece_.data.clear();
  piece_.chunk = {};
  return {};
}

void ChunkSink::wait_until(std::int64_t sample) {
  const auto due = started_ + nanoseconds(nanoseconds_of(sample - paced_from_, format_.rate));
  while (settings_.stop == nullptr || !settings_.stop->load()) {
    const auto left = due - std::chrono::steady_clock::now();
    if (left <= nanoseconds(0)) return;
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(left, std::chrono::milliseconds(50)));
  }
}

Status ChunkSink::finish() noexcept {
  try {
    if (!begun_) return {};
    const bool interrupted = settings_.stop != nullptr && settings_.stop->load();
    return give(settings_.ends_when_stopped || !interrupted);
  } catch (const std::exception&) {
    return pipeline::out_of_memory("a piece of a stream");
  }
}

}  // namespace runnel::fleet
