// Sizes of the inputs that a file leaves open (.onnx and .tflite).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace runnel::compiler {

struct InputShapes {
  // Shapes of inputs, for those with axes of no fixed size: by name; -1 leaves an axis to be found out. An
  // axis of the same name in another input gets the same size (.onnx).
  std::map<std::string, std::vector<std::int64_t>> shapes;

  // What the data at hand looks like. Unlike the above it is used where it fits and ignored where not:
  // shapes; numbers of elements, which tell the size of a single open axis.
  std::map<std::string, std::vector<std::int64_t>> data_shapes;
  std::map<std::string, std::int64_t> data_elements;
};

// Lengths that an open axis gets when nothing is said, until one fits; a batch is 1.
inline constexpr std::int64_t kOpenLengths[] = {128, 512, 576, 1280, 16000};

}  // namespace runnel::compiler
