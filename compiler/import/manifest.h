// Manifests of microWakeWord: a JSON file that states how to use a .tflite file in the same folder
// (docs/formats.md).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler {

struct WakeWordManifest {
  std::string wake_word, model;  // model: a file name, relative to the manifest
  std::string author, website, languages;
  int version = 2;
  double probability_cutoff = 0;  // 0 .. 1
  int sliding_window = 1;         // probabilities averaged
  int feature_step = 10;          // ms from frame to frame
  int tensor_arena = 0;           // bytes that TensorFlow Lite Micro needs for it; 0: not given
};

// Whether the bytes look like JSON, which no model file does.
bool looks_like_manifest(std::span<const std::byte> bytes);

// Errors: invalid_data naming the key, what was expected and what was found; unsupported for versions and
// types that are not known.
Result<WakeWordManifest> read_manifest(std::span<const std::byte> bytes);

// Gives the model's graph its usage, front end, decision and label. Error: mismatch when the model's
// input does not take the frames of this front end.
Status apply_manifest(const WakeWordManifest& manifest, Graph& graph);

}  // namespace runnel::compiler
