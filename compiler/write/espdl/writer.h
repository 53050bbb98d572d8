// Writes .espdl files (EDL2) that ESP-DL runs; the inverse of importer.h. docs/espdl.md says what is
// written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/host/key.h"
#include "base/status.h"
#include "compiler/import/espdl/importer.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

struct EspdlWriteOptions {
  // The chip: rounding, layouts of weights, exponents per channel, bits of biases. `automatic`: what the
  // metadata entry espdl.target says (of an imported .espdl file), or quantize.target (of the quantizer).
  EspdlTarget target = EspdlTarget::automatic;
  // Frames per call: the streaming form with StreamingCache nodes (streaming_form.h), whose test values are
  // several calls in a row; 0: the graph as it is.
  int chunk = 0;
  // >= 0: padding between layers, which a stream does not have, may make so many frames of warm-up
  // (streaming_form.h); -1: it is refused.
  std::int64_t warm_up = -1;
  // Encrypts the file (mode 1); null: plain. The format authenticates nothing (docs/espdl.md).
  const crypto::Key* key = nullptr;
  // Seed of the test inputs, if the graph has none that fit.
  std::uint32_t seed = 1;
};

struct EspdlWritten {
  std::vector<std::byte> bytes;  // empty when there are refusals
  // What the format or the target cannot say, one sentence for each operator and reason, all of them.
  std::vector<std::string> refusals;
  // Notes for people, one sentence each.
  std::vector<std::string> notes;
  EspdlTarget target = EspdlTarget::c;
};

// `graph`: integer operators with power-of-two scales, as import_espdl makes them; operators between floats
// as far as ESP-DL has them. The file carries test values: the inputs of the graph's first vector (or seeded
// random ones) and the outputs that runnel computes from them. What was written is read and run again before
// it is given back: it gives these outputs, bit for bit. The result is deterministic. Errors:
// invalid_argument without a target; those of running the graph; unsupported for a key without mbedTLS.
Result<EspdlWritten> write_espdl(const Graph& graph, const EspdlWriteOptions& options = {});

}  // namespace runnel::compiler
