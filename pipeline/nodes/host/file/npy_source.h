// Recordings as arrays: NumPy files of [time, channels].
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "pipeline/node.h"

namespace runnel::pipeline {

// Gives the numbers unscaled, converted to float32; [time] is one channel. Reads in blocks.
class NpySource final : public Node {
 public:
  static const NodeType type;

  std::string_view path;
  double rate = 0;
  std::string_view missing = "error";

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  [[nodiscard]] Text note() const noexcept override;

 private:
  Status check_finite(float* values, std::int64_t rows) noexcept;

  std::ifstream file_;
  DType dtype_ = DType::float32;
  std::int64_t channels_ = 1, rows_ = 0, position_ = 0;
  std::int64_t replaced_ = 0;
  std::vector<std::byte> raw_;  // of one block
};

}  // namespace runnel::pipeline
