// In builds without ONNX.
#include "compiler/import/file_access.h"
#include "compiler/import/onnx/importer.h"

namespace runnel::compiler {

bool have_onnx() { return false; }

void open_onnx() {}

Result<OnnxImport> import_onnx(std::span<const std::byte>, const OnnxOptions&) {
  return Status(Code::unsupported)
         << "an .onnx file, which this build does not read: configure with RUNNEL_ONNX=ON (Debian packages "
            "libonnx-dev, libprotobuf-dev, protobuf-compiler)";
}

}  // namespace runnel::compiler
