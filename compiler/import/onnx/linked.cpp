// For programs that link protobuf: there is nothing to open.
#include "compiler/import/file_access.h"

namespace runnel::compiler {

void open_onnx() {}

}  // namespace runnel::compiler
