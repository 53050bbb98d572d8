// Small files of other tools to damage.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace runnel::test {

struct ForeignFile {
  std::string name;  // "quantized.onnx"
  std::vector<std::byte> bytes;
  [[nodiscard]] bool is_onnx() const { return name.ends_with(".onnx"); }
};
// A float and a quantized graph each; none in a build without ONNX.
std::vector<ForeignFile> onnx_originals();
std::vector<ForeignFile> tflite_originals();

}  // namespace runnel::test
