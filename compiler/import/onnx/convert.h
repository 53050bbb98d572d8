// The graph of an .onnx file as a graph of the runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/import/onnx/importer.h"
#include "compiler/import/onnx/source.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::onnx_source {

struct Converted {
  Graph graph;
  std::vector<std::string> notes;
};
// `otherwise`: the length of axes whose size nothing tells. Errors: invalid_data of the conversions, naming
// the node; unsupported naming the opset, all operators that are missing with their nodes, and all that
// others cannot do.
Result<Converted> convert(const ::onnx::ModelProto& model, const OnnxOptions& options,
                          std::int64_t otherwise);

}  // namespace runnel::compiler::onnx_source
