// What the parts of `runnel infer` share.
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

// A tensor's values on their way in or out, in the model's type; `shape` may have another length than the
// model says, or one more leading axis (sequences).
struct Values {
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};
using InputMap = std::map<int, Values>;  // by tensor

// ---- files (infer_values.cpp)
// The values of an input. `leading` axes of steps stand before its own; `open_axis`: an axis of any
// length, which the model's usage goes along; -1: only that of its plan. Errors: those of reading; mismatch
// for another type, size or shape.
Result<Values> read_values(const Model& model, int index, const std::filesystem::path& path, int leading,
                           int open_axis);
// As NAME.npy in the folder of outputs.
Status write_values(const InferCall& call, const Model& model, int index, Values values);
// Which tensors are written: the outputs, and of those that are computed on the way everything or what is
// named.
Result<std::vector<int>> wanted_tensors(const InferCall& call, const Model& model);
// Errors: invalid_argument when two tensors would share a file.
Status check_names(const Model& model, const std::vector<int>& wanted);

// ---- runs (infer_runs.cpp)
// One clip at once. Tensors share memory once they are no longer needed; a dump keeps all of them apart.
Status run_whole(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                 const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted);
// One long input through blocks; what is written are the concatenated valid frames.
Status run_streamed(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                    const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted);
// One long input through steps or windows. Outputs with as many frames as a step takes are put one after the
// other along time; of others, every run's stand along a new leading axis.
Status run_stepped(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                   const ModelUsage& usage, const Values& input, const std::vector<int>& wanted);
// Every step is a whole run; explicit state outputs are copied to their inputs.
Status run_sequence(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                    const InputMap& inputs, std::int64_t steps, const std::map<int, int>& states,
                    const std::vector<int>& wanted);

}  // namespace runnel::apps
