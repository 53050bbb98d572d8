// A source whose samples a program gives it, from memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/node.h"

namespace runnel::arrays {

// `samples rate=16000`: sound or sensor readings; with `values`, frames as a front end makes them, for nodes
// that take frames. What a program gives is borrowed until it is taken.
class SamplesSource final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  std::int64_t rate = 16000, channels = 1;
  std::int64_t values = 0, hop = 160, span = 400;  // frames

  // `count` samples (frames) of channels (values) float32 numbers each, dense. Only when left() is 0.
  void give(const float* samples, std::int64_t count) noexcept;
  // Nothing comes after what was given.
  void close() noexcept { closed_ = true; }
  // As new, with nothing given.
  void open() noexcept;
  // Samples that were given and not taken yet.
  [[nodiscard]] std::int64_t left() const noexcept { return left_; }
  // Numbers of one sample or frame.
  [[nodiscard]] std::int64_t width() const noexcept { return values > 0 ? values : channels; }

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  const float* next_ = nullptr;
  std::int64_t left_ = 0;
  bool closed_ = false;
};

}  // namespace runnel::arrays
