// The module `onnx`: the importer, ONNX's classes and protobuf.
#include "base/host/late_library.h"
#include "compiler/import/onnx/importer.h"

RUNNEL_MODULE(runnel::compiler::import_onnx)
