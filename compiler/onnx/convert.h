// The graph of an .onnx file as a graph of the runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/source.h"

namespace runnel::compiler::onnx_source {

struct Converted {
  Graph graph;
  std::vector<std::string> notes;
};
// `otherwise`: the length of axes whose size nothing tells. Errors: those of the conversions, naming the node; unsupported naming all
// operators that are missing, with their numbers.
Result<Converted> convert(const ::onnx::ModelProto& model, const OnnxOptions& options, std::int64_t otherwise);

}  // namespace runnel::compiler::onnx_source
