// A model and its graph as C++ source for firmware, for `runnel embed` and for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/load.h"

namespace runnel::embedding {

// The most bytes of a tier of a device's memory.
inline constexpr std::int64_t kMaxMemory = std::int64_t{64} << 20;

// The source tree that this library was built from: the default of EmbedRequest::runnel.
std::string source_folder();

// The names and meanings are those of the options of `runnel embed` (docs/commands.md).
struct EmbedRequest {
  std::string model;   // name or file
  std::string output;  // folder; it is made where it is missing
  std::string name, front_end, decision, samples;
  // A processor (cortex-m4, ...), or the target of a foreign file as in LoadOptions::target.
  std::string target;
  std::string runnel = source_folder();
  std::string build_system;  // cmake (empty), esp-idf, zephyr, arduino, mbed, wasm
  int sample_rate = 0, channels = 1, hop = 0, events = 4;  // Hz, -, samples, decisions; 0: as by default
  std::int64_t memory = 0, fast = 0;                       // bytes; 0: a bound, one tier
  bool self_test = false, step = false, counters = false;
  int cores = 1;  // that share heavy operators, 1 to 8
  // A profile with an image of the model beside it, instead of a program with the model in it; `profile`:
  // further models that it must take, each of which gets an image, too.
  bool in_partition = false;
  std::vector<std::string> profile;
  std::uint32_t model_version = 1;            // of the images
  std::string key;                            // file of the key that signs them; empty: not signed
  std::function<void(std::string_view)> say;  // sentences for people; may be empty
};

struct EmbedOutcome {
  std::string name;                // of the library, and of runnel_NAME in C
  std::vector<std::string> files;  // that were written, below the folder
  std::size_t model_bytes = 0;     // in ROM: of the model's file, or of the constants of a compiled one
  int operators = 0;               // of the model
  // Of operators, also of the models of a decoder, each once, as inference/ops/definitions.h names them.
  std::vector<std::string> kinds;
  int sample_rate = 0, channels = 0;             // Hz
  std::int64_t hop = 0;                          // samples that are processed at once
  std::string samples;                           // int16 or float32
  std::size_t memory_bytes = 0, fast_bytes = 0;  // that the application gives; 0: no second tier
  std::string npu;                               // that computes parts of the model; empty: none
};

// Makes the program, prepares it on this machine as a device would, and writes its files. `load`: how the
// model is read; its target is not used. Errors, before any file is written: invalid_argument for options
// out of their range or that contradict each other, naming the option; those of the importers, of the graph
// and of preparing it, naming the file; not_found for a self-test without vectors; io_error. Thread-safe:
// calls take turns; no other thread of the process may call runnel_prepare() meanwhile.
Result<EmbedOutcome> embed_model(EmbedRequest request, compiler::LoadOptions load);

}  // namespace runnel::embedding
