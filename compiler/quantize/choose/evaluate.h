// Decisions of a model on labelled clips, float and quantized.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "compiler/quantize/quantize.h"

namespace runnel::compiler::quantizer {

struct Accuracy {
  std::size_t clips = 0, real_correct = 0, correct = 0, same = 0;
  std::optional<std::size_t> streamed_correct;  // where the model can be streamed
  double noise = 0;                             // noise-to-signal ratio of the first output over all clips
  std::size_t classes = 0;                      // that were decided among
};

// A clip's decision is the class with the largest mean of the first output over its other axes. The axis of
// the classes is the one of `known_classes` elements, or, where they are not known (0), the smallest that has
// room for every label. Errors: mismatch for another number of labels than clips, or labels or classes that
// no axis has room for.
Result<Accuracy> evaluate(const Graph& real, const Graph& quantized, const Clips& clips,
                          const std::vector<int>& labels, int threads, std::size_t known_classes = 0);

// Numbers of classes: a .csv file with a column label_id, raw int32 (.i32), or one number per line. Errors
// name the file.
Result<std::vector<int>> read_labels(const std::filesystem::path& path);

// Names of the operators that stay float32 and compute, with how many of each kind; empty: none.
std::string real_operators(const Quantized& quantized);

// The model's answer to a clip, as a vector for its self-test. Errors: those of running it.
Status add_vectors(const Clip& clip, Graph& graph);

}  // namespace runnel::compiler::quantizer
