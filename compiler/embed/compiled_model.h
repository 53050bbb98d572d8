// A model that is a stream as constants of a program: what Prepared::make() would compute, computed here;
// only weights, numbers and tables are left. The operators' kernels are named one by one, so that a linker
// leaves out all others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/memory.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "inference/prepared.h"

namespace runnel::compiler {

struct CompileOptions {
  std::string array;             // the name of the array of constants in C
  std::string scope;             // of the namespace that everything is in
  std::int64_t chunk = 0;        // frames per run; 0: the model's smallest
  std::string output;            // name of the tensor; empty: the only one
  bool dequantize = false;       // float32 instead of the model's integers
  DType given = DType::float32;  // of the frames that come
  int given_exponent = 0;
  std::vector<std::string> labels;
  std::size_t fast_bytes = 0;  // of a second tier of memory; 0: one tier
  bool steps = false;          // also which operators each step computes, for reports
};

struct CompiledText {
  std::string definitions;  // C++, in a namespace of its own: `scope`::kModel is a pipeline::CompiledModel
  std::vector<std::byte> constants;  // what `array` holds
};

// Errors: unsupported for models that are no streams, naming all operators that have no compiled form, or a
// type that frames do not come in; those of Prepared::make().
Result<CompiledText> compile_model(const Model& model, const CompileOptions& options);

// The prepared model that the constants stand for, in `memory`. Errors: unsupported for models that are no
// streams; those of Prepared::make().
Result<const Prepared*> prepare_for_compiling(const Model& model, const CompileOptions& options,
                                              Memory& memory);

}  // namespace runnel::compiler
