// NumPy files: one row per frame.
#pragma once

#include "base/host/output_file.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// [frames, values] in the dtype of the stream. Gaps are not marked: the next row follows directly.
class Npy final : public Node {
 public:
  static const NodeType type;

  std::string_view path;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  OutputFile file_;
  Format format_;
  std::size_t header_bytes_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace runnel::pipeline
