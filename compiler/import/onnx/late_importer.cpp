// For programs that open protobuf when they read an .onnx file.
#include "base/host/late_library.h"
#include "compiler/import/onnx/importer.h"

namespace runnel::compiler {

bool have_onnx() { return true; }

Result<OnnxImport> import_onnx(std::span<const std::byte> bytes, const OnnxOptions& options) {
  RUNNEL_ASSIGN(const auto* const module, open_module<decltype(import_onnx)>("onnx", ".onnx files"));
  return module->function(bytes, options);
}

}  // namespace runnel::compiler
