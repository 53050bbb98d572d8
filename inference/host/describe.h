// What is known of a model before it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "inference/host/engine.h"
#include "inference/host/receptive_field.h"

namespace runnel {

struct OperatorDescription {
  std::string type, name;            // "conv", "stem"
  std::vector<int> inputs, outputs;  // tensor indices; -1: absent
  std::int64_t macs = 0;             // multiply-adds for the reference length
  double macs_per_frame = 0;         // per source frame, when streamed
  std::int64_t context = 0;          // C, when streamed
  // What computes it: "avx512vnni dense", "plain"; "with operator 3" where that one computes it along.
  std::string kernel;
  bool reference = false;  // the plain loops that define the result: no kernel serves it here
};

struct TensorDescription {
  std::string name;
  Shape shape;  // at the reference length
  DType dtype = DType::none;
  std::vector<int> exponents;
  bool constant = false;
  std::size_t bytes = 0;  // at the reference length
  // When streamed:
  int time_axis = -1;
  std::int64_t up = 0, down = 1, delay = 0, history = 0;
  std::size_t state_bytes = 0;  // of the history alone
};

// What a back end computes (inference/delegate.h).
struct DelegateDescription {
  int op = -1;  // which operator it is
  std::string kind;
  std::vector<std::pair<std::string, std::size_t>> parts;  // names and bytes
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<int> inputs, outputs;  // tensor indices, without the parts
};

// Bytes, exactly; what one model needs, and each of its streams.
struct MemoryDescription {
  std::size_t arena_fast = 0, arena_slow = 0;
  std::size_t arena_bound = 0;  // no arena for all intermediate tensors could be smaller
  std::size_t scratch = 0, state = 0;
  Tier scratch_tier = Tier::fast, state_tier = Tier::fast;
  Prepared::ConstantBytes constants;  // in the file, by how they serve
  std::size_t operators = 0;          // packed weights, tables, settings
  std::size_t prepared = 0;           // all that preparing took: operators, copies, plans
  std::size_t alignment = 0;

  [[nodiscard]] std::size_t arena() const { return arena_fast + arena_slow; }
  // How close the planned arenas come to the bound: 1 is perfect.
  [[nodiscard]] double arena_ratio() const {
    return arena_bound == 0 ? 1.0 : static_cast<double>(arena()) / static_cast<double>(arena_bound);
  }
};

struct ModelDescription {
  std::string name;
  std::vector<OperatorDescription> operators;
  std::vector<DelegateDescription> delegates;
  std::vector<TensorDescription> tensors;
  std::vector<int> inputs, outputs;
  std::size_t file_bytes = 0, weight_bytes = 0;
  MemoryDescription memory;  // for `block`, or the whole clip
  bool streamed = false;
  std::int64_t block_multiple = 1, block = 0;
  std::int64_t delay = 0;       // of output 0, in source frames (rounded up)
  double lookahead = 0;         // source frames after the nominal place of output 0
  double receptive_field = 0;   // source frames; 0: unbounded
  std::int64_t cold_start = 0;  // source frames before the first output frame
  [[nodiscard]] std::size_t constant_bytes() const {
    return memory.constants.packed + memory.constants.in_place + memory.constants.copied_fast +
           memory.constants.copied_slow;
  }
  std::int64_t macs = 0;  // whole clip
  double macs_per_frame = 0;
};

// `options.frames`: source frames per block, 0: the smallest. Models without a streaming plan are described
// for their clip, others for a stream, whatever options.mode says; delegates without back end as if they had
// one that needs no memory.
Result<ModelDescription> describe_model(std::shared_ptr<const OwnedModel> model, PrepareOptions options = {},
                                        OperatorTable table = all_operators());

}  // namespace runnel
