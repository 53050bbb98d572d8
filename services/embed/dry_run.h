// A dry run of the generated program on this machine: checks everything before any file is written, and
// measures the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/embed/sources.h"
#include "decoding/search_tables.h"
#include "inference/prepared.h"
#include "pipeline/format.h"
#include "pipeline/host/text.h"

namespace runnel::embedding {

struct DryModel {
  const Prepared* compiled = nullptr;              // null: the model is interpreted
  int tensor = 0;                                  // output of the compiled model
  pipeline::Format gives{};                        // its format
  const decoding::SearchTables* search = nullptr;  // of the decoder of speech
  bool counters = false;                           // room for what runnel_measure() takes
  int cores = 1;
  bool passes = true;  // room for what may pass by the model
};

struct DryRun {
  std::size_t memory_bytes = 0;
  std::int64_t hop = 1;  // samples from frame to frame after the front end
  bool events = false;
  pipeline::Format features, output;               // input and output of the model
  const decoding::SearchTables* search = nullptr;  // as it was given
  std::vector<std::string> decisions;  // per node: if it is a decision, its facts as C++ (decision_name)
};

// Prepares the program as runnel_prepare() does on a device, with `fast` bytes of a second tier of memory.
// Errors: those of preparing, without the name of the file. Not thread-safe.
Result<DryRun> dry_run(const compiler::EmbeddedProgram& program, const std::vector<pipeline::NodeText>& nodes,
                       std::size_t fast, const DryModel& model);

}  // namespace runnel::embedding
