// Writes a WAV file.
#pragma once

#include <sndfile.h>

#include "pipeline/node.h"
#include "pipeline/nodes/host/output_file.h"

namespace runnel::pipeline {

class WavSink final : public Node {
 public:
  static const NodeType type;

  std::string_view path;
  std::string_view encoding = "int16";

  ~WavSink() override;
  Status prepare(PrepareContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status finish() noexcept override;

 private:
  [[nodiscard]] Status refused() const;

  OutputFile file_;
  SNDFILE* sound_ = nullptr;
};

}  // namespace runnel::pipeline
