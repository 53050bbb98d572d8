// A .tflite model as plain data and verified tables, checked once while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/import/tflite/operator_codes.h"
#include "compiler/import/tflite/tflite_generated.h"

namespace runnel::compiler::tflite_source {

struct Tensor {
  std::string name;                 // "tensor 7" when the file has none
  std::vector<std::int32_t> shape;  // no dimension is negative; empty: a scalar, or not known
  std::vector<bool> open;           // per axis: without fixed size, whatever `shape` says; empty: none
  DType dtype = DType::none;        // none: a type that nothing here computes with
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  int channel_axis = 0;            // when there are several scales
  bool variable = false;           // state of the operator that reads it
  std::int32_t arena_offset = -1;  // where a compiler that planned memory ahead of time put it; -1: nowhere
  std::optional<std::span<const std::byte>> data;  // constants: exactly as many bytes as the shape asks for
};

struct Operator {
  std::string name;  // "CONV_2D #3"
  Builtin code = Builtin::ADD;
  std::string custom;                         // of CUSTOM
  std::vector<std::int32_t> inputs, outputs;  // tensors; -1: absent
  const tflite::Operator* table = nullptr;    // for the options
};

struct Subgraph {
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;  // in execution order
  std::vector<std::int32_t> inputs, outputs;
};

struct Model {
  std::string description;
  std::vector<Subgraph> subgraphs;  // the first one is the model
};

// Everything points into `file`, which must start 16-byte aligned. Errors: invalid_data naming tensor or
// operator, expected and found.
Result<Model> read_model(std::span<const std::byte> file);

// Elements of an int32 or int64 constant. Errors: invalid_data for other tensors.
Result<std::vector<std::int64_t>> integers_of(const Tensor& tensor);

}  // namespace runnel::compiler::tflite_source
