// NumPy files: one row per frame.
#pragma once

#include "pipeline/node.h"
#include "pipeline/nodes/host/output_file.h"

namespace runnel::pipeline {

// [frames, values] in the dtype of the stream. Gaps leave no trace: rows follow one another.
class Npy final : public Node {
 public:
  static const NodeType type;

  std::string_view path;

  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  [[nodiscard]] std::string header() const;

  OutputFile file_;
  Format format_;
  std::int64_t rows_ = 0;
};

}  // namespace runnel::pipeline
