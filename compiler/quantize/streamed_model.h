// A model as a stream, for measuring.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"
#include "inference/host/engine.h"

namespace runnel::compiler::quantizer {

// One input and the first output, block by block in the smallest blocks.
class StreamedModel {
 public:
  // Errors: unsupported for graphs that cannot be streamed or have several inputs; those of the writer.
  static Result<std::unique_ptr<StreamedModel>> make(const Graph& graph);
  // The concatenated frames of the first output for a clip of the first input, in the layout of a whole run.
  Result<std::vector<float>> run(const std::vector<float>& clip);

 private:
  StreamedModel() = default;
  std::shared_ptr<const Engine> engine_;
  std::unique_ptr<Runner> runner_;
  Tensor input_, output_;
  kernels::Rounding rounding_ = kernels::Rounding::half_even;
};

}  // namespace runnel::compiler::quantizer
