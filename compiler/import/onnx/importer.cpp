#include "compiler/import/onnx/importer.h"

#include "base/host/out_of_memory.h"
#include "compiler/import/onnx/convert.h"
#include "compiler/import/onnx/source.h"

namespace runnel::compiler {
namespace {

// Lengths to try for axes whose size nothing tells: short ones do not fit every model, and some fit one
// length only.

Result<OnnxImport> import_model(std::span<const std::byte> bytes, const OnnxOptions& options) {
  RUNNEL_ASSIGN(const auto model, onnx_source::read_model(bytes));
  Status first;
  for (const std::int64_t length : kOpenLengths) {
    auto converted = onnx_source::convert(*model, options, length);
    if (converted.ok()) return OnnxImport{std::move(converted->graph), std::move(converted->notes)};
    if (first.ok()) first = converted.status();
    if (converted.status().code() == Code::not_found || converted.status().code() == Code::mismatch) break;
  }
  return first;
}

}  // namespace

bool have_onnx() { return true; }

Result<OnnxImport> import_onnx(std::span<const std::byte> bytes, const OnnxOptions& options) {
  return catching_bad_alloc("importing the model", [&] { return import_model(bytes, options); });
}

}  // namespace runnel::compiler
