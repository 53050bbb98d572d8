// ONNX operators as the specification states them, in float64 and without any haste: what imported graphs are
// compared with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/import/onnx/protobuf.h"

namespace runnel::test {

struct Array {
  std::vector<std::int64_t> dims;
  std::vector<double> values;  // integers, too
};

// All values of the graph by name, for these inputs. Throws std::runtime_error for operators that it does not
// know.
std::map<std::string, Array> evaluate(const ::onnx::ModelProto& model, std::map<std::string, Array> inputs);

}  // namespace runnel::test
