// What passes by a model (bypass.h) in a ring of frames, and nodes that have one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inference/prepared.h"
#include "pipeline/node.h"
#include "pipeline/nodes/model/bypass.h"
#include "pipeline/nodes/model/model_stream.h"

namespace runnel::pipeline {

class PassedFrames final : public Bypass {
 public:
  // For the input of `context`, of which something passes by the model; `largest_block`: frames of the
  // largest block that runs. Errors: unsupported for a model whose output has another rate; out_of_memory.
  Status prepare(const NodeContext& context, const Prepared& prepared, const ModelStreamShape& shape,
                 std::int64_t largest_block) noexcept;

  void reset() noexcept override { stored_ = 0; }
  void store(ModelStream& stream, const std::byte* frames, std::int64_t count) noexcept override;
  void collect(const ModelStream& stream, const OutputFrames& frames, Output& out) const noexcept override;
  [[nodiscard]] std::size_t saved_bytes() const noexcept override {
    return static_cast<std::size_t>(capacity_) * bytes_;
  }
  // Frames that were not stored since the reset are saved as zeros.
  std::int64_t save(std::byte* to) const noexcept override;
  void restore(std::int64_t stored, const std::byte* from) noexcept override;

 private:
  // Of the frame `index`, counted from the reset: one of the last `capacity_`.
  [[nodiscard]] std::byte* part(std::int64_t index) const noexcept {
    return ring_ + static_cast<std::size_t>(index % capacity_) * bytes_;
  }

  std::byte* ring_ = nullptr;
  std::int64_t capacity_ = 0, stored_ = 0;
};

// The node `Base`, Infer or RomInfer or one made of them, for frames of which a part may pass by the model.
template <class Base>
class PassingBy : public Base {
 protected:
  Status make_bypass(const NodeContext& context, const Prepared& prepared, const ModelStreamShape& shape,
                     std::int64_t largest_block, Bypass*& made) noexcept override {
    if (context.input.beside == 0) return {};
    made = &passed_;
    return passed_.prepare(context, prepared, shape, largest_block);
  }

 private:
  PassedFrames passed_;
};

}  // namespace runnel::pipeline
