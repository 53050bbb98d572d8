// Proves a model on this machine: its self-test vectors, and that streaming it equals running it whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/host/engine.h"

namespace runnel {

// The first place where two runs differ.
struct Difference {
  std::string run;  // which run: "blocks of 4", "event-driven", ...
  int tensor = -1;
  std::int64_t frame = -1, element = -1;
  std::string expected, found;
};

// Floats of a test vector may differ by this much, absolutely, as in ESP-DL's own self-test; a NaN agrees
// with a NaN.
inline constexpr double kVectorTolerance = 2e-5;
// int16 values of a model that was imported from an .espdl file may differ by this many of their steps,
// again as in ESP-DL's own self-test. All other integers are compared exactly.
inline constexpr double kEspdlInt16Steps = 1;

struct VectorReport {
  int cases = 0;
  int exact = 0;            // bit for bit
  int passed = 0;           // exact, or within the rule
  bool floats = false;      // some value compared was float32: within kVectorTolerance
  bool int16_step = false;  // some value compared was int16 of an .espdl file: within kEspdlInt16Steps
  double largest_difference =
      0;  // of all values: integers in their own steps, floats as they are; infinite for sizes that differ
  std::vector<Difference> differences;  // beyond the rule
};
// Runs every test vector of the model whole and compares: integers bit for bit, but int16 of .espdl files
// within kEspdlInt16Steps, and floats within kVectorTolerance.
Result<VectorReport> check_vectors(std::shared_ptr<const OwnedModel> model, Isa isa = best_isa(),
                                   OperatorTable table = all_operators());

struct StreamReport {
  std::int64_t frames = 0;              // of the recording
  std::vector<std::int64_t> blocks;     // block sizes that were run
  std::int64_t output_frames = 0;       // of output 0
  std::vector<Difference> differences;  // empty: exact
};
// Runs a recording of `frames` source frames whole and streamed: in blocks (1, 2, 3, 4, 8, 50 and 1000 times
// the smallest), after a reset from poisoned state, two sessions interleaved, saved and restored in the
// middle, and event-driven with random chunks. `inputs`: one array per graph input, in the input's layout;
// empty: seeded random numbers.
Result<StreamReport> check_streaming(std::shared_ptr<const OwnedModel> model, std::int64_t frames,
                                     std::span<const std::vector<std::byte>> inputs = {},
                                     std::uint32_t seed = 1, Isa isa = best_isa(),
                                     OperatorTable table = all_operators());

}  // namespace runnel
