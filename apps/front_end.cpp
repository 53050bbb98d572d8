#include "apps/front_end.h"

#include <algorithm>

#include "pipeline/host/front_end.h"

namespace runnel::apps {

Status store_front_end(const std::string& text, int sample_rate, compiler::Graph& graph) {
  RUNNEL_ASSIGN(const pipeline::FrontEnd front_end, pipeline::resolve_front_end(text, sample_rate));
  if (graph.inputs.empty()) return Status(Code::invalid_data, "the model has no inputs");
  const compiler::Tensor& input = graph.tensors[static_cast<std::size_t>(graph.inputs[0])];
  const std::int32_t values = front_end.frames.channels;
  // A frame is one axis of the input, the axes behind time together, or a part of a clip that lies in one row.
  std::int64_t behind_time = 1;
  for (std::size_t i = 2; i < input.shape.size(); ++i) behind_time *= input.shape[i];
  const bool clip = input.shape.size() == 2 && values > 0 && input.shape[1] % values == 0;
  if (!clip && behind_time != values && std::find(input.shape.begin(), input.shape.end(), values) == input.shape.end()) {
    RUNNEL_TRY(pipeline::check_frame_size(front_end.frames, input.shape.empty() ? 0 : input.shape.back(), "input \"" + input.name + "\""));
  }
  graph.pipeline.front_end = front_end.text;
  graph.pipeline.sample_rate = static_cast<int>(front_end.sample_rate);
  return {};
}

}  // namespace runnel::apps
