#include "services/calibrate/model_front_end.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/host/front_end.h"
#include "pipeline/nodes/host/stored_text.h"

namespace runnel::calibrate {

Status store_front_end(const std::string& text, int sample_rate, compiler::Graph& graph) {
  RUNNEL_ASSIGN(const pipeline::FrontEnd front_end, pipeline::resolve_front_end(text, sample_rate));
  if (graph.inputs.empty()) return Status(Code::invalid_data, "the model has no inputs");
  const compiler::Tensor& input = graph.tensors[static_cast<std::size_t>(graph.inputs[0])];
  const std::int32_t values = front_end.frames.channels;
  // A frame is one axis of the input, all axes after time, or a part of a clip in a single row.
  std::int64_t after_time = 1;
  for (std::size_t i = 2; i < input.shape.size(); ++i) after_time *= input.shape[i];
  const bool clip = input.shape.size() == 2 && values > 0 && input.shape[1] % values == 0;
  if (!clip && after_time != values &&
      std::find(input.shape.begin(), input.shape.end(), values) == input.shape.end()) {
    RUNNEL_TRY(pipeline::check_frame_size(front_end.frames, input.shape.empty() ? 0 : input.shape.back(),
                                          "input \"" + input.name + "\""));
  }
  graph.pipeline.front_end = front_end.text;
  graph.pipeline.sample_rate = static_cast<int>(front_end.sample_rate);
  return {};
}

Status store_labels(const std::string& file, std::vector<std::string> names, compiler::Graph& graph) {
  const auto& shape = graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape;
  const std::size_t channels = shape.empty() ? 0 : static_cast<std::size_t>(shape.back());
  // Models from other tools may have channels before time.
  const bool before_time = shape.size() == 3 && names.size() == static_cast<std::size_t>(shape[1]);
  if (names.size() != channels && !before_time)
    return Status(Code::mismatch) << file << ": " << names.size() << " labels for an output of " << channels
                                  << " channels";
  graph.pipeline.labels = std::move(names);
  return {};
}

Result<NpyArray> recording_as_input(const Model& model, int tensor, const std::filesystem::path& recording) {
  const fb::Pipeline* const settings = model.pipeline();
  if (settings == nullptr || settings->front_end() == nullptr || settings->front_end()->size() == 0) {
    return Status(Code::invalid_argument) << "the model has no front end for " << recording.string();
  }
  RUNNEL_TRY(pipeline::check_stored_text(settings->front_end()->string_view(), "front end"));
  RUNNEL_ASSIGN(pipeline::FrontEndFrames frames,
                pipeline::run_front_end(settings->front_end()->str(), recording));
  const Shape shape = model.tensor(tensor).shape;
  const int planned =
      model.plan() != nullptr
          ? model.plan()->tensors()->Get(static_cast<flatbuffers::uoffset_t>(tensor))->time_axis()
          : -1;
  const int axis = planned >= 0 ? planned : std::min(1, shape.rank - 1);
  const std::int64_t front = shape.product(0, axis), after = shape.product(axis + 1, shape.rank),
                     values = frames.format.channels;
  const bool before_time = front == values && after == 1 && values != 1;
  if (!before_time && (front != 1 || after != values)) {
    return pipeline::check_frame_size(frames.format, front == 1 ? after : front,
                                      "input \"" + std::string(model.tensor_name(tensor)) + "\"");
  }
  NpyArray out;
  out.dtype = frames.format.dtype;
  for (int i = 0; i < shape.rank; ++i) out.shape.push_back(i == axis ? frames.frames : shape[i]);
  out.data = std::move(frames.data);
  if (!before_time) return out;
  const std::vector<std::byte> rows = std::move(out.data);
  out.data.resize(rows.size());
  const std::size_t element = size_of(out.dtype), count = static_cast<std::size_t>(frames.frames),
                    width = static_cast<std::size_t>(values);
  for (std::size_t frame = 0; frame < count; ++frame) {
    for (std::size_t value = 0; value < width; ++value) {
      std::copy_n(rows.data() + (frame * width + value) * element, element,
                  out.data.data() + (value * count + frame) * element);
    }
  }
  return out;
}

}  // namespace runnel::calibrate
