#include "pipeline/nodes/model/passed_frames.h"

#include <algorithm>
#include <cstring>

namespace runnel::pipeline {

Status PassedFrames::prepare(const NodeContext& context, const Prepared& prepared,
                             const ModelStreamShape& shape, std::int64_t largest_block) noexcept {
  const std::int32_t values = context.input.beside;
  if (shape.up != shape.down) {
    return Status(Code::unsupported) << "the first " << values << " values of the frames of "
                                     << context.input_label
                                     << " pass by the model, which has another frame rate: expected one "
                                        "frame of output for each of the input";
  }
  const int tensor = prepared.tables().outputs[static_cast<std::size_t>(shape.position)];
  bytes_ = static_cast<std::size_t>(values) * sizeof(float);
  capacity_ = prepared.placement(tensor).delay + largest_block;
  ring_ = static_cast<std::byte*>(context.memory.allocate(saved_bytes(), 16));
  if (ring_ == nullptr) return out_of_memory("what passes by the model");
  reset();
  return {};
}

void PassedFrames::store(ModelStream& stream, const std::byte* frames, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(part(stored_++), frames, bytes_);
    stream.convert(frames + bytes_, 1, stream.pending() + i);
    frames += bytes_ + stream.shape().in_bytes;
  }
}

void PassedFrames::collect(const ModelStream& stream, const OutputFrames& frames,
                           Output& out) const noexcept {
  if (frames.count > 0 && out.count == 0) out.first = frames.first + stream.grid();
  const std::size_t bytes = bytes_ + stream.shape().out_bytes;
  for (std::int64_t i = 0; i < frames.count; ++i) {
    std::byte* const to = out.data + static_cast<std::size_t>(out.count + i) * bytes;
    std::memcpy(to, part(frames.first + i), bytes_);
    OutputFrames one = frames;
    one.offset = frames.offset + i;
    one.count = 1;
    Output single;
    single.data = to + bytes_;
    single.capacity = 1;
    copy_out(stream.shape(), stream.output_converter(), one, single);
  }
  out.count += frames.count;
}

std::int64_t PassedFrames::save(std::byte* to) const noexcept {
  const std::size_t used = static_cast<std::size_t>(std::min(stored_, capacity_)) * bytes_;
  if (used > 0) std::memcpy(to, ring_, used);
  std::memset(to + used, 0, saved_bytes() - used);
  return stored_;
}

void PassedFrames::restore(std::int64_t stored, const std::byte* from) noexcept {
  stored_ = stored;
  std::memcpy(ring_, from, saved_bytes());
}

}  // namespace runnel::pipeline
