// runnel infer: raw tensors in and out; whole, streamed in blocks, or step by step.
#include <algorithm>
#include <cstring>

#include "apps/infer/infer_call.h"
#include "apps/verbs.h"
#include "base/host/npy.h"
#include "base/host/output_name.h"
#include "services/calibrate/model_front_end.h"

namespace runnel::apps {

using calibrate::is_recording;
namespace {

namespace fs = std::filesystem;

Result<int> find_port(const Model& model, const std::string& name, std::span<const std::int32_t> ports,
                      std::string_view what) {
  std::string known;
  for (const std::int32_t port : ports) {
    if (tensor_label(model, port) == name) return static_cast<int>(port);
    known += (known.empty() ? "" : ", ") + tensor_label(model, port);
  }
  return Status(Code::not_found) << "no " << what << " \"" << name << "\"; the model has " << known;
}

Result<std::pair<std::string, std::string>> split(const std::string& text, std::string_view what) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return Status(Code::invalid_argument)
           << "\"" << text << "\", expected " << what << "; `runnel inspect MODEL` prints the names";
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

// Takes axes and integers that an .onnx or .tflite file leaves open from the input files. Skips unreadable
// files.
Status look_at_data(const InferCall& call, compiler::OnnxOptions& options) {
  constexpr std::size_t kMaxValues =
      16;  // most elements of an integer input that may be a setting, such as a sample rate
  for (const std::string& text : call.inputs) {
    RUNNEL_ASSIGN(const auto pair, split(text, "NAME=FILE"));
    const fs::path path = pair.second;
    if (is_recording(path)) continue;  // the front end's frames have the size of the model's input
    std::vector<std::byte> bytes;
    std::size_t steps = 1;
    if (path.extension() == ".npy") {
      auto read = read_npy(path);
      if (!read.ok()) continue;  // reported when the input is read
      NpyArray& array = *read;
      if (call.sequence && !array.shape.empty()) {
        steps = static_cast<std::size_t>(std::max<std::int64_t>(array.shape[0], 1));
        array.shape.erase(array.shape.begin());
      }
      options.data_shapes[pair.first] = array.shape;
      if (array.dtype != DType::int64) continue;
      bytes = std::move(array.data);
    } else {
      auto read = read_whole_file(path);
      if (!read.ok()) continue;
      bytes = std::move(*read);
      if (!call.sequence)
        options.data_elements[pair.first] = static_cast<std::int64_t>(bytes.size() / sizeof(float));
    }
    // A setting is the same in all steps.
    const std::size_t each = bytes.size() / steps;
    bool same = each > 0 && each % 8 == 0 && each <= 8 * kMaxValues;
    for (std::size_t at = each; same && at + each <= bytes.size(); at += each)
      same = std::memcmp(bytes.data(), bytes.data() + at, each) == 0;
    if (!same) continue;
    std::vector<std::int64_t>& values = options.data_values[pair.first];
    values.resize(each / 8);
    std::memcpy(values.data(), bytes.data(), each);
  }
  return {};
}

// An input fixed during import may be given, but only with the fixed value.
Status check_fixed(const std::string& name, std::string_view fixed, const compiler::OnnxOptions& data) {
  std::string given;
  if (const auto found = data.data_values.find(name); found != data.data_values.end()) {
    for (const std::int64_t value : found->second)
      given += (given.empty() ? "" : ",") + std::to_string(value);
  }
  if (given == fixed) return {};
  return Status(Code::mismatch) << "input " << name << " is fixed at " << fixed
                                << " in this model, the file has "
                                << (given.empty() ? "something else" : given);
}

// A model that cannot be prepared for any length: its open axes follow the data.
Result<std::shared_ptr<const OwnedModel>> load_for_data(const InferCall& call,
                                                        compiler::OnnxOptions& options) {
  RUNNEL_TRY(look_at_data(call, options));
  ModelFlags flags = call.flags;
  flags.onnx.data_values = options.data_values;
  RUNNEL_ASSIGN(const compiler::LoadOptions any_length, load_options(flags));
  auto loaded = compiler::load_model(call.model, any_length);
  if (!loaded.ok() || loaded->model->model().plan() == nullptr) {
    flags.onnx = options;
    RUNNEL_ASSIGN(const compiler::LoadOptions this_length, load_options(flags));
    loaded = compiler::load_model(call.model, this_length);
  }
  if (!loaded.ok()) return loaded.status();
  for (const std::string& note : loaded->notes) say(call.model + ": " + note);
  return loaded->model;
}

Status run_loaded(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned,
                  const compiler::OnnxOptions& data) {
  const Model& model = owned->model();
  RUNNEL_ASSIGN(const std::vector<int> wanted, wanted_tensors(call, model));
  if (!call.states.empty() && !call.sequence)
    return Status(Code::invalid_argument) << "--state needs --sequence";
  std::map<int, int> states;
  for (const std::string& text : call.states) {
    RUNNEL_ASSIGN(const auto pair, split(text, "OUTPUT=INPUT"));
    RUNNEL_ASSIGN(const int out, find_port(model, pair.first, model.outputs(), "output"));
    RUNNEL_ASSIGN(const int in, find_port(model, pair.second, model.inputs(), "input"));
    if (model.tensor(out).bytes() != model.tensor(in).bytes()) {
      return Status(Code::mismatch) << "state " << text << ": " << model.tensor(out).bytes() << " and "
                                    << model.tensor(in).bytes() << " bytes";
    }
    states[out] = in;
  }
  // The usage in the file: a long input goes through steps or windows, and state is paired.
  ModelUsage usage;
  if (const auto stored = usage_of(model); stored.ok()) usage = *stored;
  for (std::uint32_t k = 0; call.states.empty() && usage.pairs != nullptr && k < usage.pairs->size(); ++k)
    states[usage.pairs->Get(k)->output()] = usage.pairs->Get(k)->input();
  const bool by_usage = (usage.kind == UsageKind::step || usage.kind == UsageKind::window) &&
                        usage.time_axis >= 0 && !call.sequence && call.chunk == 0;
  const int streamed_input = by_usage ? model.inputs()[static_cast<std::size_t>(usage.input)] : -1;

  // Check all names before any file, so that a wrong name is reported first.
  std::vector<std::pair<int, std::string>> files;
  for (const std::string& text : call.inputs) {
    RUNNEL_ASSIGN(const auto pair, split(text, "NAME=FILE"));
    const auto port = find_port(model, pair.first, model.inputs(), "input");
    if (const std::string_view fixed = model.metadata("onnx.fixed." + pair.first);
        !port.ok() && !fixed.empty()) {
      RUNNEL_TRY(check_fixed(pair.first, fixed, data));
      continue;
    }
    RUNNEL_TRY(port.status());
    files.emplace_back(*port, pair.second);
  }
  InputMap inputs;
  for (const auto& [tensor, path] : files) {
    RUNNEL_ASSIGN(inputs[tensor], read_values(model, tensor, path, call.sequence ? 1 : 0,
                                              tensor == streamed_input ? usage.time_axis : -1));
  }
  std::int64_t frames = 0, steps = -1;
  for (const std::int32_t tensor : model.inputs()) {
    const auto found = inputs.find(tensor);
    if (found == inputs.end()) {
      const bool is_state =
          std::any_of(states.begin(), states.end(), [&](const auto& pair) { return pair.second == tensor; });
      if (is_state) continue;
      return Status(Code::invalid_argument) << "no file for input " << tensor_label(model, tensor) << ' '
                                            << shape_text(model.tensor(tensor).shape) << ": give -i "
                                            << tensor_label(model, tensor) << "=FILE";
    }
    if (call.sequence) {
      if (steps >= 0 && steps != found->second.shape[0])
        return Status(Code::mismatch)
               << "inputs of " << steps << " and " << found->second.shape[0] << " steps";
      steps = found->second.shape[0];
      continue;
    }
    const int axis = model.plan() == nullptr
                         ? -1
                         : model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
    if (axis < 0) continue;
    const std::int64_t length = found->second.shape[static_cast<std::size_t>(axis)];
    if (frames != 0 && frames != length)
      return Status(Code::mismatch) << "inputs of " << frames << " and " << length << " frames";
    frames = length;
  }
  RUNNEL_TRY(check_names(model, wanted));
  std::error_code error;
  fs::create_directories(call.output, error);
  if (error) return Status(Code::io_error) << call.output << ": cannot be created: " << error.message();
  if (call.sequence)
    return run_sequence(call, owned, inputs, std::max<std::int64_t>(steps, 0), states, wanted);
  if (by_usage &&
      (usage.pairs != nullptr || inputs.at(streamed_input).shape[static_cast<std::size_t>(usage.time_axis)] !=
                                     model.tensor(streamed_input).shape[usage.time_axis])) {
    if (inputs.size() > 1)
      return Status(Code::invalid_argument,
                    "state starts at zero in a run of steps: give it with --sequence, or not at all");
    return run_stepped(call, owned, usage, inputs.at(streamed_input), wanted);
  }
  if (call.chunk > 0) return run_streamed(call, owned, inputs, frames, wanted);
  return run_whole(call, owned, inputs, frames, wanted);
}

}  // namespace

Status run_infer(const InferCall& call, const std::function<Status(InferCall&, const Model&)>& loaded) {
  RUNNEL_TRY(check_output_name(call.output, {}));
  compiler::OnnxOptions data;
  RUNNEL_ASSIGN(const auto owned, load_for_data(call, data));
  InferCall changed = call;
  if (loaded) RUNNEL_TRY(loaded(changed, owned->model()));
  return run_loaded(changed, owned, data);
}

void add_infer(Verb verb, int& exit_code) {
  auto call = std::make_shared<InferCall>();
  verb.positional("MODEL", call->model, kAnyModel).required();
  verb.option("-i,--input", call->inputs,
              "NAME=FILE for each input; float32 is quantized with the tensor's scale")
      .default_str("");
  verb.option("-o,--output", call->output, "Folder for the outputs, one NAME.npy each").required();
  verb.option("--chunk", call->chunk,
              "Run streamed, in blocks of this many frames (0: by the model's usage: whole, in steps, in "
              "windows)")
      .non_negative();
  verb.flag("--sequence", call->sequence,
            "Inputs have one more leading axis, the steps; outputs get the same");
  verb.option("--state", call->states,
              "OUTPUT=INPUT: copied from step to step; an input without -i starts at zero")
      .default_str("");
  add_model_flags(verb, call->flags);
  verb.option("--dump", call->dump, "Write these tensors besides the outputs: NAME,..., or all")
      .delimiter(',')
      .default_str("");
  add_threads_flag(verb, call->threads);
  verb.flag("--dequantize", call->dequantize, "Write quantized outputs as float32");
  verb.callback([call, &exit_code] {
    if (const Status status = run_infer(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
