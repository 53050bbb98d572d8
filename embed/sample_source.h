// Sample source: pushed samples as the source of a graph.
#pragma once

#include "embed/runnel.h"
#include "pipeline/node.h"

namespace runnel::embed {

// Call give(), then step the executor until nothing is pending.
class SampleSource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  pipeline::Format format;       // float32
  DType given = DType::float32;  // int16: as v / 32768

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

  // Not copied: the caller keeps them until nothing is pending.
  void give(const void* samples, std::size_t frames) noexcept;
  // The samples are half number `half` of a double buffer. They are copied step by step; if they are
  // overwritten meanwhile, the samples from there on are lost.
  void give(const void* samples, std::size_t frames, const runnel_double_buffer& buffer,
            std::uint32_t half) noexcept;
  void lose(std::int64_t frames) noexcept { lost_ += frames; }
  [[nodiscard]] std::size_t pending() const noexcept { return pending_; }
  // Samples lost before the next ones.
  [[nodiscard]] std::int64_t lost() const noexcept { return lost_; }
  // Halves overwritten while they were copied.
  [[nodiscard]] std::uint64_t torn() const noexcept { return torn_; }
  void forget() noexcept;

 private:
  const std::byte* next_ = nullptr;
  std::size_t pending_ = 0;  // frames
  std::int64_t lost_ = 0;
  std::uint64_t torn_ = 0;
  const runnel_double_buffer* buffer_ = nullptr;
  std::uint32_t half_ = 0;
};

}  // namespace runnel::embed
