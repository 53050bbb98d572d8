// What does not need protobuf.
#include <algorithm>

#include "compiler/import/onnx/importer.h"

namespace runnel::compiler {

bool looks_like_onnx(std::span<const std::byte> bytes) {
  // ModelProto: ir_version (field 1, a small number), then another of its first fields, which are texts, a
  // number, the graph or an opset.
  if (bytes.size() < 4) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(bytes[i]); };
  constexpr unsigned kTags[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72};
  return byte(0) == 0x08 && byte(1) >= 1 && byte(1) <= 32 &&
         std::find(std::begin(kTags), std::end(kTags), byte(2)) != std::end(kTags);
}

}  // namespace runnel::compiler
