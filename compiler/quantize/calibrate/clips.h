// What a model is calibrated and measured with: clips of its inputs as float32.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/graph.h"

namespace runnel::compiler::quantizer {

// One clip: the values of every input of the graph, in its order and layout.
using Clip = std::vector<std::vector<float>>;

// Clips that are read one by one, so that a thousand need no more memory than one.
class Clips {
 public:
  virtual ~Clips() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  // For people: which recording that is.
  [[nodiscard]] virtual std::string name(std::size_t index) const = 0;
  // Called from several threads at a time. Errors name the clip.
  virtual Status read(std::size_t index, Clip& clip) const = 0;
};

// Clips in memory.
class MemoryClips final : public Clips {
 public:
  explicit MemoryClips(std::vector<Clip> clips) : clips_(std::move(clips)) {}
  [[nodiscard]] std::size_t size() const override { return clips_.size(); }
  [[nodiscard]] std::string name(std::size_t index) const override { return "clip " + std::to_string(index); }
  Status read(std::size_t index, Clip& clip) const override {
    clip = clips_[index];
    return {};
  }

 private:
  std::vector<Clip> clips_;
};

// Other clips with all values larger: what a model gets to see after it was calibrated with these.
class LouderClips final : public Clips {
 public:
  // `clips` must stay.
  LouderClips(const Clips& clips, float factor) : clips_(clips), factor_(factor) {}
  [[nodiscard]] std::size_t size() const override { return clips_.size(); }
  [[nodiscard]] std::string name(std::size_t index) const override { return clips_.name(index); }
  Status read(std::size_t index, Clip& clip) const override {
    RUNNEL_TRY(clips_.read(index, clip));
    for (auto& input : clip) {
      for (float& value : input) value *= factor_;
    }
    return {};
  }

 private:
  const Clips& clips_;
  float factor_;
};

// Clips that say something, in order: those of which every input holds one value throughout are left out
// (windows between words, a microphone that was switched off). Every clip must fit the graph's inputs and
// hold finite numbers. Errors: mismatch, invalid_data, naming the clip, also when all are silent;
// invalid_argument when there is none.
Result<std::vector<std::size_t>> usable_clips(const Graph& graph, const Clips& clips);

}  // namespace runnel::compiler::quantizer
