// Running graphs over clips, in several threads, with the same sums for any number of them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibrate/clips.h"
#include "inference/host/engine.h"

namespace runnel::compiler::quantizer {

// Several forms of one model side by side: all get the same clip.
class ClipRunner {
 public:
  // Sums that depend on the order are gathered per slice and added slice by slice.
  static constexpr std::size_t kSlices = 4;

  // outputs[graph][output], as numbers. Valid during the call.
  using Outputs = std::vector<std::vector<std::span<const float>>>;
  // Clips of one slice come in order and one at a time, those of different slices at the same time.
  using Visit = std::function<void(std::size_t clip, std::size_t slice, const Outputs& outputs)>;

  // The graphs are not kept. Inputs may have scales: clips are quantized for them. Errors: those of the
  // reader and of preparing.
  static Result<ClipRunner> make(std::span<const Graph* const> graphs, int threads);

  // Runs the clips named by `which`. Errors: those of the clips.
  Status run(const Clips& clips, std::span<const std::size_t> which, const Visit& visit) const;

 private:
  struct Form {
    std::shared_ptr<const Engine> engine;
    std::vector<Tensor> inputs, outputs;  // without data
    kernels::Rounding rounding = kernels::Rounding::half_even;
  };
  Status run_slice(const Clips& clips, std::span<const std::size_t> which, std::size_t slice,
                   const Visit& visit) const;

  std::vector<Form> forms_;
  int threads_ = 1;
};

// [0, count).
std::vector<std::size_t> all_of(std::size_t count);

}  // namespace runnel::compiler::quantizer
