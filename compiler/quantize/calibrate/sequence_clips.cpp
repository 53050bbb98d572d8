#include "compiler/quantize/calibrate/sequence_clips.h"

#include <algorithm>
#include <map>

#include "compiler/quantize/calibrate/clip_runner.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr std::size_t kMaxStateBytes = std::size_t{512} << 20;

// Place of a tensor among some; their number when it is not there.
std::size_t place_of(const std::vector<TensorId>& ids, TensorId id) {
  return static_cast<std::size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
}

class SequenceClips final : public Clips {
 public:
  SequenceClips(const Graph& graph, std::unique_ptr<Clips> steps)
      : steps_(std::move(steps)), inputs_(graph.inputs.size()) {
    for (const auto& state : graph.pipeline.states)
      inputs_of_states_.push_back(place_of(graph.inputs, state.second));
  }
  [[nodiscard]] std::size_t size() const override { return steps_->size(); }
  [[nodiscard]] std::string name(std::size_t index) const override { return steps_->name(index); }
  Status read(std::size_t index, Clip& clip) const override {
    Clip step;
    RUNNEL_TRY(steps_->read(index, step));
    clip.assign(inputs_, {});
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs_; ++i) {
      const auto state = std::find(inputs_of_states_.begin(), inputs_of_states_.end(), i);
      if (state != inputs_of_states_.end())
        clip[i] = states_[index][static_cast<std::size_t>(state - inputs_of_states_.begin())];
      else if (next < step.size())
        clip[i] = std::move(step[next++]);
    }
    return {};
  }
  // The state before the next step.
  void push(std::vector<std::vector<float>> state) { states_.push_back(std::move(state)); }

 private:
  std::unique_ptr<Clips> steps_;
  std::size_t inputs_;
  std::vector<std::size_t> inputs_of_states_;
  std::vector<std::vector<std::vector<float>>> states_;  // per step, per state
};

}  // namespace

Result<std::unique_ptr<Clips>> sequence_clips(const Graph& graph, std::unique_ptr<Clips> steps,
                                              const std::vector<bool>& begins) {
  const auto& pairs = graph.pipeline.states;
  std::vector<std::vector<float>> zeros;
  std::vector<std::size_t> outputs;
  std::size_t bytes = 0;
  for (const auto& [output, input] : pairs) {
    const Tensor &from = graph.tensors[static_cast<std::size_t>(output)],
                 &to = graph.tensors[static_cast<std::size_t>(input)];
    if (element_count(from.shape) != element_count(to.shape))
      return Status(Code::mismatch) << "state " << from.name << "=" << to.name << ": "
                                    << element_count(from.shape) << " values for " << element_count(to.shape);
    zeros.emplace_back(element_count(to.shape), 0.0f);
    outputs.push_back(place_of(graph.outputs, output));
    bytes += element_count(to.shape) * sizeof(float);
  }
  const std::size_t count = steps->size();
  if (bytes > 0 && count > kMaxStateBytes / bytes) {
    return Status(Code::unsupported) << count << " steps with " << bytes
                                     << " bytes of state each, expected at most " << kMaxStateBytes / bytes
                                     << " steps";
  }
  auto clips = std::make_unique<SequenceClips>(graph, std::move(steps));
  const Graph* const forms[] = {&graph};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, 1));
  std::vector<std::vector<float>> state = zeros;
  for (std::size_t i = 0; i < count; ++i) {
    if (i < begins.size() && begins[i]) state = zeros;
    clips->push(state);
    const std::size_t which[] = {i};
    RUNNEL_TRY(runner.run(*clips, which, [&](std::size_t, std::size_t, const ClipRunner::Outputs& found) {
      for (std::size_t s = 0; s < outputs.size(); ++s)
        state[s].assign(found[0][outputs[s]].begin(), found[0][outputs[s]].end());
    }));
  }
  return std::unique_ptr<Clips>(std::move(clips));
}

}  // namespace runnel::compiler::quantizer
