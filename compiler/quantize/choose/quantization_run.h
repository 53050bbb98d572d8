// One way through all steps of a quantization, with one set of methods.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/quantize/calibrate/clips.h"
#include "compiler/quantize/choose/quantization_noise.h"
#include "compiler/quantize/options.h"
#include "compiler/quantize/quantize.h"

namespace runnel::compiler::quantizer {

// Equalization and the choice of methods are judged by clips that leave the ranges a little, as those of
// later recordings will: a grid that is filled to its last integer looks better on what it was made from than
// it is.
inline constexpr float kLouder = 1.15f;

class QuantizationRun {
 public:
  // All three must stay.
  QuantizationRun(const Graph& graph, const Clips& clips, const Options& options)
      : given_(graph), clips_(clips), options_(options) {}

  // All steps. `all`: clips for ranges; `which`: those for everything else.
  Result<Quantized> run(const Methods& methods, const std::vector<std::size_t>& all,
                        const std::vector<std::size_t>& which) const;
  // The same with equal scales at its sums; nothing where no sum gets them.
  Result<std::optional<Quantized>> with_sums(const Quantized& before, double slack,
                                             const std::vector<std::size_t>& which) const;
  // The same with its blocks trained; `scales`: their scales too.
  Result<Quantized> with_training(const Quantized& before, bool scales,
                                  const std::vector<std::size_t>& which) const;

 private:
  Result<Plan> planned(const Graph& graph, const std::vector<std::size_t>& which,
                       const Options& options) const;
  Status prepare(const Methods& methods, const std::vector<std::size_t>& all,
                 const std::vector<std::size_t>& searched, Quantized& made) const;
  Status improve(const Methods& methods, const ReferenceOutputs& reference,
                 const std::vector<std::size_t>& which, Quantized& made) const;
  Status tie(const Methods& methods, const ReferenceOutputs& reference, const std::vector<std::size_t>& which,
             Quantized& made) const;
  Result<ReferenceOutputs> quick(const Quantized& made, const std::vector<std::size_t>& which) const;

  const Graph& given_;
  const Clips& clips_;
  const Options& options_;
};

}  // namespace runnel::compiler::quantizer
