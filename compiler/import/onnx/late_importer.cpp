// For programs that open protobuf when they read an .onnx file.
#include <atomic>

#include "base/host/late_library.h"
#include "compiler/import/file_access.h"
#include "compiler/import/onnx/importer.h"

namespace runnel::compiler {

namespace {

using OnnxModule = Module<decltype(import_onnx)>;

// Found once: a process in a sandbox cannot look for it again.
Result<const OnnxModule*> opened() {
  static std::atomic<const OnnxModule*> known = nullptr;
  if (const OnnxModule* const module = known.load()) return module;
  RUNNEL_ASSIGN(const OnnxModule* const module, open_module<decltype(import_onnx)>("onnx", ".onnx files"));
  known = module;
  return module;
}

}  // namespace

bool have_onnx() { return true; }

void open_onnx() { [[maybe_unused]] const auto module = opened(); }

Result<OnnxImport> import_onnx(std::span<const std::byte> bytes, const OnnxOptions& options) {
  RUNNEL_ASSIGN(const OnnxModule* const module, opened());
  return module->function(bytes, options);
}

}  // namespace runnel::compiler
