// What is known of a model before it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
};

struct TensorDescription {
  std::string name;
  Shape shape;                       // at the reference length
  DType dtype = DType::none;
  std::vector<int> exponents;
  bool constant = false;
  std::size_t bytes = 0;             // at the reference length
  // When streamed:
  int time_axis = -1;
  std::int64_t up = 0, down = 1, delay = 0, history = 0;
  std::size_t state_bytes = 0;       // of the history alone
};

struct ModelDescription {
  std::string name;
  std::vector<OperatorDescription> operators;
  std::vector<TensorDescription> tensors;
  std::vector<int> inputs, outputs;
  std::size_t file_bytes = 0, weight_bytes = 0;
  std::size_t arena_bytes = 0, scratch_bytes = 0, state_bytes = 0, prepared_bytes = 0;   // for `block`, or the whole clip
  bool streamed = false;
  std::int64_t block_multiple = 1, block = 0;
  std::int64_t delay = 0;            // of output 0, in source frames (rounded up)
  double lookahead = 0;              // source frames behind the nominal place of output 0
  double receptive_field = 0;        // source frames; 0: unbounded
  std::int64_t cold_start = 0;       // source frames before the first output frame
  std::int64_t macs = 0;             // whole clip
  double macs_per_frame = 0;
};

// `block`: source frames per block, 0: the smallest. Models without a streaming plan are described for their clip.
Result<ModelDescription> describe_model(std::shared_ptr<const OwnedModel> model, std::int64_t block = 0, OperatorTable table = all_operators());

}  // namespace runnel
