// The inputs of an .onnx graph with all their sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/import/onnx/importer.h"
#include "compiler/import/onnx/source.h"

namespace runnel::compiler::onnx_source {

struct Input {
  std::string name;
  DType dtype = DType::none;
  Dims dims;
  int open_axis = -1;  // beside a batch, the last axis that the file leaves open
  bool fixed = false;
  std::vector<std::int64_t> values;  // of fixed inputs
};
// All inputs but those with initializers. Sizes come from `options`; without, a batch is 1 and other axes are
// `otherwise`, which a note tells. Errors: invalid_data; mismatch for options that contradict the file;
// not_found for options of inputs that are not there.
Result<std::vector<Input>> read_inputs(const ::onnx::GraphProto& graph, const OnnxOptions& options,
                                       std::int64_t otherwise, std::vector<std::string>& notes);

}  // namespace runnel::compiler::onnx_source
