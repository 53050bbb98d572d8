// Small .espdl files made in memory, so that the importer's tests need no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/espdl/espdl_generated.h"

namespace runnel::test {

struct TinyTensor {
  std::string name;
  std::vector<std::int64_t> dims;
  espdl::TensorDataType type = espdl::TensorDataType::INT8;
  std::vector<std::int64_t> values;  // converted to `type`
  std::vector<std::int64_t> exponents;
  std::string layout = "UNK";
};

struct TinyValue {
  std::string name;
  std::vector<std::int64_t> shape;
  espdl::TensorDataType type = espdl::TensorDataType::INT8;
  std::int64_t exponent = 0;
};

struct TinyNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, std::int64_t>> integers = {};
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> lists = {};
  std::vector<std::pair<std::string, std::string>> texts = {};
  std::string name = "";  // the operator's type when empty
};

struct TinyModel {
  std::vector<TinyValue> inputs, outputs, values;
  std::vector<TinyTensor> constants, test_inputs, test_outputs;
  std::vector<TinyNode> nodes;
  std::vector<std::pair<std::string, std::string>> metadata;

  // The whole file; `magic` EDL1 or EDL2.
  [[nodiscard]] std::vector<std::byte> file(const std::string& magic = "EDL2") const;
};

// x [1, 5, 2] -> Conv (3 outputs, kernel 2, stride 1, no padding, ReLU) -> y [1, 4, 3]; all int8, target c.
TinyModel tiny_conv();

}  // namespace runnel::test
