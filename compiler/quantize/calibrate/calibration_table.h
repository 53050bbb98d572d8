// What a quantization decided, as a small text: who has it and the float model makes the same integers
// without the recordings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/quantize/quantize.h"

namespace runnel::compiler::quantizer {

// JSON: target, scheme, widths, methods, ranges of tensors, factors between layers, exponents and biases of
// layers, and by how many steps their weights differ from the nearest integers. `front_end`: graph text that
// made the clips, may be empty. `clips`: how many there were. `given`: the graph that was quantized. Errors:
// unsupported for graphs in which several layers have one name.
Result<std::string> table_text(const Graph& given, const Quantized& quantized, const Options& options,
                               std::string_view front_end, std::size_t clips);

// A table that was read, checked in itself.
class CalibrationTable {
 public:
  // Errors: invalid_data, saying where and what was expected.
  static Result<CalibrationTable> from_text(std::string_view text);

  // Sizes of the model's inputs when it was calibrated.
  [[nodiscard]] const std::map<std::string, std::vector<std::int64_t>>& shapes() const { return shapes_; }
  [[nodiscard]] const std::string& front_end() const { return front_end_; }
  [[nodiscard]] const Options& options() const { return options_; }
  // The same model as the one that the table was made of. `graph`: float32, with the table's shapes. Errors:
  // mismatch for another graph than that.
  [[nodiscard]] Result<Quantized> quantize(const Graph& graph) const;

 private:
  struct LayerEntry {
    std::vector<double> steps, bias;
    std::vector<int> exponents;
    std::vector<std::int32_t> offsets;  // from the nearest integers; none: all are nearest
  };
  static Status decide_layer(const std::string& name, const LayerEntry& entry, Role role, std::size_t input,
                             const Graph& graph, std::size_t number, Plan& plan);

  std::uint32_t checksum_ = 0;
  std::map<std::string, std::vector<std::int64_t>> shapes_;
  std::string front_end_;
  Options options_;
  Methods methods_;
  double error_ = 0;
  std::map<std::string, DType> types_;
  std::vector<Scaling> scalings_;
  std::map<std::string, Range> ranges_;
  std::map<std::string, int> gates_;
  std::map<std::string, LayerEntry> layers_;
  std::map<std::string, std::map<int, LayerEntry>> matrices_;
};

// A clip of uniform noise over the ranges of the inputs, for self-tests where there is no recording. The same
// for the same seed.
Clip noise_clip(const Quantized& quantized, std::uint32_t seed);

}  // namespace runnel::compiler::quantizer
