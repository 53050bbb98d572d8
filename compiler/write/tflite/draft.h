// A .tflite file that is being written, as plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/tflite/operator_codes.h"
#include "compiler/import/tflite/tflite_generated.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::tflite_source {

struct DraftTensor {
  Tensor tensor;            // name, shape, type, scales; exponents have become scales
  std::int64_t arena = -1;  // its place; -1: a constant
  std::int32_t block = -1;  // the scratch memory that it lies in, a tensor; -1: it has memory of its own
  std::size_t block_offset = 0;
};

struct DraftOperator {
  Builtin code = Builtin::CUSTOM;
  std::string custom;  // of CUSTOM
  int version = 1;
  std::vector<std::int32_t> inputs, outputs;
  tflite::BuiltinOptions type = tflite::BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)> options;  // null: none
};

struct Draft {
  std::vector<DraftTensor> tensors;
  std::vector<DraftOperator> operators;
  std::vector<std::int32_t> inputs, outputs;
  std::map<TensorId, std::int32_t> known;  // of the graph's tensors

  std::int32_t add(Tensor tensor);
  // The graph's tensor, added when it is not there yet.
  std::int32_t tensor(const Graph& graph, TensorId id);
  std::int32_t integers(const std::string& name, const std::vector<std::int32_t>& numbers);
};

}  // namespace runnel::compiler::tflite_source
