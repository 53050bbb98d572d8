// Proves a model on this machine, for `runnel check` and for programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "inference/host/engine.h"
#include "pipeline/host/graph.h"

namespace runnel::describe {

struct CheckRequest {
  std::string model;        // its name in the result
  std::string wav;          // a recording for the model's own front end; empty: seeded random input
  std::int64_t frames = 0;  // length of the random input; 0: 200
  std::uint32_t seed = 1;   // of the random input
  bool speed = false;       // also fail on slow layers
};

struct CheckOutcome {
  bool passed = false;
  std::string json;  // one line without newline, as `runnel check` prints it (docs/commands.md)
};

// Runs the self-test vectors, and compares streamed with whole runs. `options`: of the graph that runs the
// front end; its operators also run the model. `say` gets the details, a sentence each; may be empty. Errors:
// those of check_vectors, check_streaming and the front end; invalid_argument for a recording without front
// end; unsupported for a check of speed where the machine's peak is unknown.
Result<CheckOutcome> check_model(const std::shared_ptr<const OwnedModel>& owned, const CheckRequest& request,
                                 const pipeline::GraphOptions& options,
                                 const std::function<void(std::string_view)>& say);

}  // namespace runnel::describe
