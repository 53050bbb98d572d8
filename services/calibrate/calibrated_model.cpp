#include "services/calibrate/calibrated_model.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

#include "compiler/quantize/calibrate/clip_files.h"
#include "compiler/quantize/calibrate/sequence_clips.h"
#include "services/calibrate/recording_clips.h"

namespace runnel::calibrate {
namespace {

namespace quantizer = compiler::quantizer;

// "NAME=PATH" for one input; a path alone belongs to the first input.
std::map<std::string, std::vector<std::string>> by_input(const std::vector<std::string>& data) {
  std::map<std::string, std::vector<std::string>> paths;
  for (const std::string& text : data) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || std::filesystem::exists(text))
      paths[""].push_back(text);
    else
      paths[text.substr(0, at)].push_back(text.substr(at + 1));
  }
  return paths;
}

Result<std::size_t> shortest_of(const std::vector<std::filesystem::path>& files,
                                const FrontEndFlags& front_end, std::size_t& channels) {
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  for (const auto& file : files) {
    RUNNEL_ASSIGN(const Features features, features_of(file, front_end));
    if (features.frames() == 0)
      return Status(Code::invalid_data) << file.string() << ": too short for a single frame";
    shortest = std::min(shortest, features.frames());
    channels = features.channels;
  }
  return shortest;
}

}  // namespace

Result<std::unique_ptr<quantizer::Clips>> open_clips(const std::vector<std::string>& data,
                                                     const FrontEndFlags& front_end,
                                                     const compiler::Graph& graph,
                                                     std::vector<std::string>* notes) {
  if (!front_end.text.empty()) {
    if (graph.inputs.size() != 1)
      return Status(Code::unsupported)
             << "a front end for a model with " << graph.inputs.size() << " inputs, expected 1";
    RUNNEL_ASSIGN(const auto files, recording_files(data));
    return recording_clips(files, front_end, graph.tensors[static_cast<std::size_t>(graph.inputs[0])]);
  }
  auto paths = by_input(data);
  std::vector<std::unique_ptr<quantizer::Clips>> inputs;
  const auto& states = graph.pipeline.states;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const compiler::Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[i])];
    // State inputs are fed by the previous step and need no data.
    if (std::any_of(states.begin(), states.end(),
                    [&](const auto& state) { return state.second == graph.inputs[i]; }))
      continue;
    auto found = paths.find(tensor.name);
    if (found == paths.end() && i == 0) found = paths.find("");
    if (found == paths.end())
      return Status(Code::invalid_argument)
             << "no data for input " << tensor.name << ", expected " << tensor.name << "=PATH";
    RUNNEL_ASSIGN(const auto files, quantizer::list_clip_files(found->second));
    quantizer::TableOptions tables = front_end.tables;
    if (tables.time_axis < 0 && i < graph.time_axes.size()) tables.time_axis = graph.time_axes[i];
    RUNNEL_ASSIGN(auto clips, quantizer::open_clip_files(files, tensor, tables, notes));
    inputs.push_back(std::move(clips));
    paths.erase(found);
  }
  if (!paths.empty())
    return Status(Code::invalid_argument)
           << "data for " << (paths.begin()->first.empty() ? "a first input" : paths.begin()->first)
           << ", which is not an input of the model";
  if (inputs.empty())
    return Status(Code::invalid_argument, "every input takes state, expected one that takes data");
  RUNNEL_ASSIGN(auto clips, quantizer::joined_clips(std::move(inputs)));
  if (states.empty()) return clips;
  return quantizer::sequence_clips(graph, std::move(clips));
}

Result<CalibratedModel> load_calibrated(const std::string& model, const std::vector<std::string>& data,
                                        const FrontEndFlags& front_end, const compiler::UsageOptions& usage,
                                        compiler::LoadOptions options) {
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(model, options));
  if (imported.graph.inputs.empty()) return Status(Code::invalid_data) << model << ": a model without inputs";
  bool again = false;
  int frame_axis = -1;  // the axis of the front end's frames is time
  if (!front_end.text.empty()) {
    const compiler::Tensor& input =
        imported.graph.tensors[static_cast<std::size_t>(imported.graph.inputs[0])];
    RUNNEL_ASSIGN(const auto files, recording_files(data));
    std::size_t channels = 0, frames = 0;
    RUNNEL_ASSIGN(const std::size_t shortest, shortest_of(files, front_end, channels));
    RUNNEL_TRY(frames_are_rows(input, channels, frames, &frame_axis).status());
    std::vector<std::int64_t> shape(input.shape.begin(), input.shape.end());
    if (frame_axis >= 0) {
      shape[static_cast<std::size_t>(frame_axis)] = static_cast<std::int64_t>(shortest);
      options.onnx.data_shapes[input.name] = shape;
      again = true;
    }
  } else {
    const auto paths = by_input(data);
    for (std::size_t i = 0; i < imported.graph.inputs.size(); ++i) {
      const compiler::Tensor& input =
          imported.graph.tensors[static_cast<std::size_t>(imported.graph.inputs[i])];
      auto found = paths.find(input.name);
      if (found == paths.end() && i == 0) found = paths.find("");
      if (found == paths.end()) continue;
      RUNNEL_ASSIGN(const auto files, quantizer::list_clip_files(found->second));
      RUNNEL_ASSIGN(const std::vector<std::int64_t> shape,
                    quantizer::clip_shape_of(files[0], input.shape.size()));
      if (shape.empty()) {
        const bool open =
            std::any_of(imported.notes.begin(), imported.notes.end(), [&](const std::string& note) {
              return note.find("input " + input.name + " has no fixed size") != std::string::npos;
            });
        if (open)
          return Status(Code::invalid_argument) << files[0].string() << ": says no shape, and input "
                                                << input.name << " has no fixed size; give it with --shape";
        continue;
      }
      options.onnx.data_shapes[input.name] = shape;
      again = true;
    }
  }
  if (again) {
    RUNNEL_ASSIGN(imported, compiler::import_file(model, options));
  }
  for (const compiler::TensorId id : imported.graph.inputs) {
    const compiler::Tensor& input = imported.graph.tensors[static_cast<std::size_t>(id)];
    if (input.dtype != DType::float32) {
      return Status(Code::unsupported)
             << model << ": input " << input.name << " is " << runnel::name_of(input.dtype)
             << ", expected float32; --value fixes inputs of integers";
    }
  }
  if (frame_axis > 0) imported.graph.time_axes.assign(imported.graph.inputs.size(), frame_axis);
  RUNNEL_TRY(compiler::apply_usage(usage, imported.graph));
  CalibratedModel loaded;
  auto clips = open_clips(data, front_end, imported.graph, &imported.notes);
  if (!clips.ok()) return clips.status();
  loaded.clips = std::move(*clips);
  loaded.graph = std::move(imported.graph);
  loaded.notes = std::move(imported.notes);
  return loaded;
}

Result<std::vector<std::string>> read_label_names(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Status(Code::not_found) << path << ": cannot be opened";
  std::vector<std::string> labels;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) labels.push_back(line);
  }
  if (labels.empty()) return Status(Code::invalid_data) << path << ": no labels, expected one per line";
  return labels;
}

}  // namespace runnel::calibrate
