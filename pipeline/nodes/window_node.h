// The base of nodes that cut a stream into windows and make one frame of each.
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/node.h"
#include "pipeline/nodes/finite_input.h"
#include "pipeline/nodes/window_grid.h"

namespace runnel::pipeline {

// Does what all of them do alike: windows on one grid for the whole recording, restarts after gaps, indices,
// input that is not finite, the end. A derived class prepares with use_windows(), and computes in push().
class WindowNode : public Node {
 public:
  std::int64_t reset(std::int64_t first) noexcept final;
  Status process(const Block& in, Output& out) noexcept final;
  Status flush(Output& out) noexcept final;
  [[nodiscard]] Text note() const noexcept override { return input_.note(); }
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    input_.state(archive);
    grid_.state(archive);
  }

 protected:
  // Windows of `length` input frames every `hop` frames become frames of `values` float32 each, at most
  // `most` of them from one block.
  struct Windows {
    std::int64_t length = 1, hop = 1, values = 1, most = 1;
  };
  // States the output. For prepare().
  void use_windows(const Windows& windows, NodeContext& context) noexcept;
  // From here on push() gets finite values only (FiniteInput). `name`: of the node's type. For prepare(),
  // unless the arithmetic looks itself. Error: out_of_memory.
  Status check_input(std::string_view name, std::string_view non_finite, NodeContext& context) noexcept;

  // Forgets all samples.
  virtual void restart() noexcept = 0;
  // How many windows have come out since restart().
  [[nodiscard]] virtual std::int64_t next_window() const noexcept = 0;
  // Takes whole input frames, writes the windows that are complete to `out` and returns their number.
  virtual Result<std::size_t> push(std::span<const float> samples, std::span<float> out) noexcept = 0;
  // At the end of the stream: windows that reach beyond it, as many as `out` takes; 0 when none is left.
  virtual std::size_t flush_windows(std::span<float>) noexcept { return 0; }

 private:
  [[nodiscard]] std::span<float> room(const Output& out) const noexcept;

  FiniteInput input_;
  WindowGrid grid_;
  std::size_t channels_ = 1, values_ = 1;
  bool checks_ = false;
};

}  // namespace runnel::pipeline
