// Shared by the parts of `runnel infer`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/infer/infer.h"
#include "apps/support.h"
#include "inference/model/usage.h"

namespace runnel::apps {

// Input or output values of a tensor, in the model's type; `shape` may differ in length from the model, or
// have one more leading axis (sequences).
struct Values {
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};
using InputMap = std::map<int, Values>;  // by tensor

// ---- files (infer_values.cpp)
// Reads the values of an input. `leading` axes of steps precede its own; `open_axis`: the axis of the model's
// usage, of any length; -1: only that of its plan. Errors: those of reading; mismatch for another type, size
// or shape.
Result<Values> read_values(const Model& model, int index, const std::filesystem::path& path, int leading,
                           int open_axis);
// Writes NAME.npy into the folder of outputs.
Status write_values(const InferCall& call, const Model& model, int index, Values values);
// The tensors to write: the outputs, and all or the named intermediate tensors.
Result<std::vector<int>> wanted_tensors(const InferCall& call, const Model& model);
// Errors: invalid_argument when two tensors would share a file.
Status check_names(const Model& model, const std::vector<int>& wanted);

// ---- runs (infer_runs.cpp)
// Runs one clip at once. Tensors reuse the memory of others; with a dump, each has its own.
Status run_whole(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                 const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted);
// Runs one long input in blocks and concatenates the valid frames.
Status run_streamed(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                    const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted);
// Runs one long input in steps or windows. Outputs with as many frames as a step gives are concatenated along
// time; others are stacked along a new leading axis.
Status run_stepped(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                   const ModelUsage& usage, const Values& input, const std::vector<int>& wanted);
// Every step is a whole run; explicit state outputs are copied to their inputs.
Status run_sequence(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                    const InputMap& inputs, std::int64_t steps, const std::map<int, int>& states,
                    const std::vector<int>& wanted);

}  // namespace runnel::apps
