// runnel infer: raw tensors in and out; whole, streamed in blocks, or step by step.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/npy.h"
#include "base/host/output_file.h"
#include "base/suggest.h"
#include "inference/frames.h"
#include "inference/host/engine.h"
#include "inference/reblocker.h"
#include "inference/stepped_session.h"
#include "kernels/affine.h"
#include "kernels/elementwise.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;

struct InferCall {
  std::string model, output;
  ModelFlags flags;
  std::vector<std::string> inputs, states, dump;
  std::int64_t chunk = 0;
  bool sequence = false, dequantize = false;
  int threads = 1;
};

// A tensor's values on their way in or out, in the model's type; `shape` may have another length than the model says, or one more
// leading axis (sequences).
struct Values {
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

// Integers that stand for real numbers: one power-of-two scale, or one scale of any size with a zero point.
bool has_scale(const TensorView& tensor) {
  if (tensor.scales.size() == 1) return tensor.dtype == DType::int8 || tensor.dtype == DType::uint8 || tensor.dtype == DType::int16 || tensor.dtype == DType::int32;
  return (tensor.dtype == DType::int8 || tensor.dtype == DType::int16) && tensor.exponents.size() == 1;
}

// `open_axis`: an axis of any length, which the model's usage goes along; -1: only that of its plan.
Result<Values> read_values(const Model& model, int index, const fs::path& path, int leading, int open_axis) {
  const TensorView tensor = model.tensor(index);
  Values values;
  if (path.extension() == ".npy") {
    RUNNEL_ASSIGN(NpyArray array, read_npy(path));
    values.shape = array.shape;
    if (array.dtype == tensor.dtype) {
      values.bytes = std::move(array.data);
    } else if (array.dtype == DType::float32 && has_scale(tensor)) {
      values.bytes = quantize_for(model, tensor, array.data);
    } else {
      return Status(Code::mismatch) << path.string() << ": " << name_of(array.dtype) << ", expected " << name_of(tensor.dtype)
                                    << " or float32 for input " << tensor_label(model, index);
    }
  } else {
    RUNNEL_ASSIGN(values.bytes, read_whole_file(path));
    for (int axis = 0; axis < tensor.shape.rank; ++axis) values.shape.push_back(tensor.shape[axis]);
    // A raw file has no shape: its size says how long the time axis (or the sequence) is.
    if (tensor.bytes() == 0 || values.bytes.size() % tensor.bytes() != 0) {
      const int axis = model.plan() != nullptr ? model.plan()->tensors()->Get(static_cast<std::uint32_t>(index))->time_axis() : open_axis;
      const std::size_t frame = axis < 0 ? tensor.bytes() : tensor.bytes() / static_cast<std::size_t>(tensor.shape[axis]);
      if (axis < 0 || leading > 0 || values.bytes.size() % frame != 0) {
        return Status(Code::mismatch) << path.string() << ": " << values.bytes.size() << " bytes, expected a multiple of " << (axis < 0 ? tensor.bytes() : frame)
                                      << " for input " << tensor_label(model, index);
      }
      values.shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(values.bytes.size() / frame);
    } else if (leading > 0) {
      values.shape.insert(values.shape.begin(), static_cast<std::int64_t>(values.bytes.size() / tensor.bytes()));
    } else if (values.bytes.size() != tensor.bytes()) {
      const int axis = model.plan() != nullptr ? model.plan()->tensors()->Get(static_cast<std::uint32_t>(index))->time_axis() : open_axis;
      if (axis < 0) return Status(Code::mismatch) << path.string() << ": " << values.bytes.size() << " bytes, expected " << tensor.bytes();
      values.shape[static_cast<std::size_t>(axis)] *= static_cast<std::int64_t>(values.bytes.size() / tensor.bytes());
    }
  }
  if (values.shape.size() != static_cast<std::size_t>(tensor.shape.rank + leading)) {
    return Status(Code::mismatch) << path.string() << ": rank " << values.shape.size() << ", expected " << tensor.shape.rank + leading << " for input "
                                  << tensor_label(model, index) << ' ' << shape_text(tensor.shape) << (leading > 0 ? " and one leading axis of steps" : "");
  }
  const int planned = leading > 0 || model.plan() == nullptr ? -1 : model.plan()->tensors()->Get(static_cast<std::uint32_t>(index))->time_axis();
  const int time = planned >= 0 || leading > 0 ? planned : open_axis;
  for (int axis = 0; axis < tensor.shape.rank; ++axis) {
    const std::int64_t found = values.shape[static_cast<std::size_t>(axis + leading)];
    if (axis != time && found != tensor.shape[axis]) {
      return Status(Code::mismatch) << path.string() << ": " << found << " on axis " << axis + leading << ", expected " << tensor.shape[axis] << " for input "
                                    << tensor_label(model, index) << ' ' << shape_text(tensor.shape);
    }
  }
  return values;
}

Status write_values(const InferCall& call, const Model& model, int index, Values values) {
  const TensorView tensor = model.tensor(index);
  DType dtype = tensor.dtype;
  if (call.dequantize && has_scale(tensor)) {
    const std::size_t count = values.bytes.size() / size_of(dtype);
    std::vector<std::byte> floats(count * sizeof(float));
    auto* const reals = reinterpret_cast<float*>(floats.data());
    if (tensor.scales.empty()) kernels::elementwise(best_isa()).dequantize(dtype, count, values.bytes.data(), reals, tensor.exponent());
    else kernels::affine_dequantize({dtype, tensor.scales[0], tensor.zero_point()}, count, values.bytes.data(), reals);
    values.bytes = std::move(floats);
    dtype = DType::float32;
  }
  return write_npy(fs::path(call.output) / (file_name_of(tensor_label(model, index)) + ".npy"), dtype, values.shape, values.bytes);
}

std::vector<std::int64_t> dims_of(const Shape& shape) { return {shape.dims.begin(), shape.dims.begin() + shape.rank}; }

// Which tensors are written: the outputs, and of those that are computed on the way everything or what is named.
Result<std::vector<int>> wanted_tensors(const InferCall& call, const Model& model) {
  std::vector<int> list(model.outputs().begin(), model.outputs().end()), computed;
  const auto add = [](std::vector<int>& to, int tensor) {
    if (std::find(to.begin(), to.end(), tensor) == to.end()) to.push_back(tensor);
  };
  for (int op = 0; op < model.operator_count(); ++op) {
    for (const std::int32_t output : *model.op(op).outputs()) add(computed, output);
  }
  for (const std::string& name : call.dump) {
    if (name == "all") {
      for (const int tensor : computed) add(list, tensor);
      continue;
    }
    const auto found = std::find_if(computed.begin(), computed.end(), [&](int tensor) { return tensor_label(model, tensor) == name; });
    if (found != computed.end()) {
      add(list, *found);
      continue;
    }
    Suggestion nearest(name);
    std::vector<std::string> labels;   // the suggestion keeps views of them
    for (const int tensor : computed) labels.push_back(tensor_label(model, tensor));
    for (const std::string& label : labels) nearest.consider(label);
    Status status(Code::not_found);
    status << "--dump " << name << ": no operator computes a tensor of this name";
    if (!nearest.best().empty()) status << ", did you mean " << nearest.best() << '?';
    return status;
  }
  return list;
}

// Two tensors must not share a file.
Status check_names(const Model& model, const std::vector<int>& wanted) {
  std::map<std::string, int> taken;
  for (const int tensor : wanted) {
    const std::string name = file_name_of(tensor_label(model, tensor)) + ".npy";
    const auto [other, fresh] = taken.emplace(name, tensor);
    if (fresh) continue;
    return Status(Code::invalid_argument) << "tensors " << tensor_label(model, other->second) << " and " << tensor_label(model, tensor) << " would both become " << name;
  }
  return {};
}

using InputMap = std::map<int, Values>;

// One clip at once. Tensors share memory once they are no longer needed; a dump keeps all of them apart.
Status run_whole(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned, const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  if (model.plan() != nullptr && frames == 0) return Status(Code::invalid_argument) << "an input of 0 frames, expected at least 1 for a whole run";
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.frames = model.plan() != nullptr ? frames : 0;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const Values& values = inputs.at(model.inputs()[i]);
    std::memcpy(session.input(static_cast<int>(i)).data(), values.bytes.data(), values.bytes.size());
  }
  session.run(engine->prepared().block());
  for (const int tensor : wanted) {
    const auto bytes = session.tensor(tensor);
    RUNNEL_TRY(write_values(call, model, tensor, {dims_of(engine->prepared().shape(tensor)), {bytes.begin(), bytes.end()}}));
  }
  return {};
}

// One long input through blocks; what is written are the concatenated valid frames.
Status run_streamed(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned, const InputMap& inputs, std::int64_t frames, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.mode = RunMode::stream;
  options.frames = call.chunk;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options));
  const Prepared& prepared = engine->prepared();
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(model.tensor_count()));
  prepared.lengths(frames, lengths);
  const auto length_of = [&](int tensor) { return prepared.placement(tensor).time_axis < 0 ? 1 : lengths[static_cast<std::size_t>(tensor)]; };
  std::vector<Values> collected;
  std::vector<std::int64_t> got(wanted.size());
  for (const int tensor : wanted) {
    Values values;
    Shape shape = prepared.shape(tensor);
    if (prepared.placement(tensor).time_axis >= 0) shape[prepared.placement(tensor).time_axis] = static_cast<std::int32_t>(length_of(tensor));
    values.shape = dims_of(shape);
    values.bytes.resize(static_cast<std::size_t>(shape.elements()) * size_of(model.tensor(tensor).dtype));
    collected.push_back(std::move(values));
  }
  const auto sink = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Placement& at = prepared.placement(wanted[i]);
      const OutputFrames out = session.frames(wanted[i]);
      const TensorView view = model.tensor(wanted[i]);
      if (at.time_axis < 0) {   // a value that follows the stream: the last one counts
        std::memcpy(collected[i].bytes.data(), out.block, collected[i].bytes.size());
        got[i] = 1;
        continue;
      }
      if (out.count == 0) continue;
      copy_frames(FrameLayout::of(view.shape, at.time_axis, view.dtype), out.block, at.frames, out.offset, collected[i].bytes.data(), length_of(wanted[i]), out.first,
                  out.count);
      got[i] += out.count;
    }
  };
  std::vector<const std::byte*> pointers;
  for (const std::int32_t input : model.inputs()) pointers.push_back(inputs.at(input).bytes.data());
  Reblocker reblocker(session);
  reblocker.push(pointers, frames, sink);
  reblocker.finish(sink);
  // The last frames of a tensor that no output needs come a little later.
  const auto complete = [&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (got[i] < length_of(wanted[i])) return false;
    }
    return true;
  };
  constexpr int kMoreCalls = 1 << 16;
  for (int i = 0; i < kMoreCalls && !call.dump.empty() && !complete(); ++i) {
    session.run(0);
    sink();
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] != length_of(wanted[i])) {
      return Status(Code::mismatch) << "tensor " << tensor_label(model, wanted[i]) << ": " << got[i] << " frames came out, expected " << length_of(wanted[i]);
    }
    RUNNEL_TRY(write_values(call, model, wanted[i], std::move(collected[i])));
  }
  return {};
}

// One long input through steps or windows. Outputs with as many frames as a step takes are put one behind the other along time; of
// others, every run's stand along a new leading axis.
Status run_stepped(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned, const ModelUsage& usage, const Values& input, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, prepare_options(model, usage, options)));
  HeapMemory memory;
  RUNNEL_ASSIGN(SteppedSession stepped, SteppedSession::make(engine->prepared(), usage, memory));
  std::vector<std::vector<std::byte>> runs(wanted.size());
  std::int64_t count = 0;
  const auto run = [&] {
    stepped.run();
    ++count;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto bytes = stepped.session().tensor(wanted[i]);
      runs[i].insert(runs[i].end(), bytes.begin(), bytes.end());
    }
  };
  const FrameLayout& layout = usage.layout;
  const std::int64_t frames = input.shape[static_cast<std::size_t>(usage.time_axis)];
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    if (stepped.skip(1) > 0) continue;
    for (std::size_t row = 0; row < layout.outer; ++row) {
      std::memcpy(stepped.room() + row * layout.inner_bytes, input.bytes.data() + (row * static_cast<std::size_t>(frames) + static_cast<std::size_t>(frame)) * layout.inner_bytes,
                  layout.inner_bytes);
    }
    stepped.written(1);
    if (stepped.due()) run();
  }
  stepped.finish();
  if (stepped.due()) run();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TensorView view = model.tensor(wanted[i]);
    Shape shape = engine->prepared().shape(wanted[i]);
    const int axis = output_time_axis(model, usage, wanted[i]);
    Values values;
    if (axis < 0) {
      values = {dims_of(shape), std::move(runs[i])};
      values.shape.insert(values.shape.begin(), count);
    } else {
      const FrameLayout out = FrameLayout::of(shape, axis, view.dtype);
      values.bytes.resize(runs[i].size());
      for (std::int64_t r = 0; r < count; ++r) {
        copy_frames(out, runs[i].data() + static_cast<std::size_t>(r) * (runs[i].size() / static_cast<std::size_t>(count)), usage.advance, 0, values.bytes.data(),
                    count * usage.advance, r * usage.advance, usage.advance);
      }
      shape[axis] = static_cast<std::int32_t>(count * usage.advance);
      values.shape = dims_of(shape);
    }
    RUNNEL_TRY(write_values(call, model, wanted[i], std::move(values)));
  }
  return {};
}

// Every step is a whole run; explicit state outputs are copied to their inputs.
Status run_sequence(const InferCall& call, const std::shared_ptr<const OwnedModel>& owned, const InputMap& inputs, std::int64_t steps,
                    const std::map<int, int>& states, const std::vector<int>& wanted) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.share = call.dump.empty();
  options.threads = call.threads;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options));
  RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
  Session& session = runner->session();
  std::map<int, std::vector<std::byte>> carried;
  for (const auto& [out, in] : states) {
    const auto given = inputs.find(in);
    if (given != inputs.end()) {
      carried[in].assign(given->second.bytes.begin(), given->second.bytes.begin() + static_cast<std::ptrdiff_t>(model.tensor(in).bytes()));
    } else {
      carried[in].assign(model.tensor(in).bytes(), std::byte{0});
    }
  }
  std::vector<Values> outputs(wanted.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
      const std::int32_t tensor = model.inputs()[i];
      const auto state = carried.find(tensor);
      const std::size_t bytes = model.tensor(tensor).bytes();
      const std::byte* from = state != carried.end() ? state->second.data() : inputs.at(tensor).bytes.data() + static_cast<std::size_t>(step) * bytes;
      std::memcpy(session.input(static_cast<int>(i)).data(), from, bytes);
    }
    session.run(engine->prepared().block());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto bytes = session.tensor(wanted[i]);
      outputs[i].bytes.insert(outputs[i].bytes.end(), bytes.begin(), bytes.end());
    }
    for (const auto& [out, in] : states) {
      const auto bytes = session.tensor(out);
      carried[in].assign(bytes.begin(), bytes.end());
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].shape = dims_of(model.tensor(wanted[i]).shape);
    outputs[i].shape.insert(outputs[i].shape.begin(), steps);
    RUNNEL_TRY(write_values(call, model, wanted[i], std::move(outputs[i])));
  }
  return {};
}

Result<int> find_port(const Model& model, const std::string& name, std::span<const std::int32_t> ports, std::string_view what) {
  std::string known;
  for (const std::int32_t port : ports) {
    if (tensor_label(model, port) == name) return static_cast<int>(port);
    known += (known.empty() ? "" : ", ") + tensor_label(model, port);
  }
  return Status(Code::not_found) << "no " << what << " \"" << name << "\"; the model has " << known;
}

Result<std::pair<std::string, std::string>> split(const std::string& text, std::string_view what) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) return Status(Code::invalid_argument) << "\"" << text << "\", expected " << what;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

// What the input files tell about axes and integers that an .onnx or .tflite file leaves open. Files that cannot be read tell nothing.
Status look_at_data(const InferCall& call, compiler::OnnxOptions& options) {
  constexpr std::size_t kMostValues = 16;   // of an input of integers that could be a setting, such as a sample rate
  for (const std::string& text : call.inputs) {
    RUNNEL_ASSIGN(const auto pair, split(text, "NAME=FILE"));
    const fs::path path = pair.second;
    std::vector<std::byte> bytes;
    std::size_t steps = 1;
    if (path.extension() == ".npy") {
      auto read = read_npy(path);
      if (!read.ok()) continue;   // said when the input is read
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
      if (!call.sequence) options.data_elements[pair.first] = static_cast<std::int64_t>(bytes.size() / sizeof(float));
    }
    // A setting is the same in all steps.
    const std::size_t each = bytes.size() / steps;
    bool same = each > 0 && each % 8 == 0 && each <= 8 * kMostValues;
    for (std::size_t at = each; same && at + each <= bytes.size(); at += each) same = std::memcmp(bytes.data(), bytes.data() + at, each) == 0;
    if (!same) continue;
    std::vector<std::int64_t>& values = options.data_values[pair.first];
    values.resize(each / 8);
    std::memcpy(values.data(), bytes.data(), each);
  }
  return {};
}

// An input that was fixed while importing may be given, but only as it was fixed.
Status check_fixed(const std::string& name, std::string_view fixed, const compiler::OnnxOptions& data) {
  std::string given;
  if (const auto found = data.data_values.find(name); found != data.data_values.end()) {
    for (const std::int64_t value : found->second) given += (given.empty() ? "" : ",") + std::to_string(value);
  }
  if (given == fixed) return {};
  return Status(Code::mismatch) << "input " << name << " is fixed at " << fixed << " in this model, the file has " << (given.empty() ? "something else" : given);
}

// A model whose open axes follow the data, when it cannot be prepared for any length.
Result<std::shared_ptr<const OwnedModel>> load_for_data(const InferCall& call, compiler::OnnxOptions& options) {
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

Status run_infer(const InferCall& call) {
  compiler::OnnxOptions data;
  RUNNEL_ASSIGN(const auto owned, load_for_data(call, data));
  const Model& model = owned->model();
  RUNNEL_ASSIGN(const std::vector<int> wanted, wanted_tensors(call, model));
  if (!call.states.empty() && !call.sequence) return Status(Code::invalid_argument) << "--state needs --sequence";
  std::map<int, int> states;
  for (const std::string& text : call.states) {
    RUNNEL_ASSIGN(const auto pair, split(text, "OUTPUT=INPUT"));
    RUNNEL_ASSIGN(const int out, find_port(model, pair.first, model.outputs(), "output"));
    RUNNEL_ASSIGN(const int in, find_port(model, pair.second, model.inputs(), "input"));
    if (model.tensor(out).bytes() != model.tensor(in).bytes()) {
      return Status(Code::mismatch) << "state " << text << ": " << model.tensor(out).bytes() << " and " << model.tensor(in).bytes() << " bytes";
    }
    states[out] = in;
  }
  // What the file says about its use: a long input goes through steps or windows, and state is paired.
  ModelUsage usage;
  if (const auto stored = usage_of(model); stored.ok()) usage = *stored;
  for (std::uint32_t k = 0; call.states.empty() && usage.pairs != nullptr && k < usage.pairs->size(); ++k) states[usage.pairs->Get(k)->output()] = usage.pairs->Get(k)->input();
  const bool by_usage = (usage.kind == fb::Usage::step || usage.kind == fb::Usage::window) && usage.time_axis >= 0 && !call.sequence && call.chunk == 0;
  const int streamed_input = by_usage ? model.inputs()[static_cast<std::size_t>(usage.input)] : -1;

  // All names before any file: a wrong name is what is wrong, whatever the file has.
  std::vector<std::pair<int, std::string>> files;
  for (const std::string& text : call.inputs) {
    RUNNEL_ASSIGN(const auto pair, split(text, "NAME=FILE"));
    const auto port = find_port(model, pair.first, model.inputs(), "input");
    if (const std::string_view fixed = model.metadata("onnx.fixed." + pair.first); !port.ok() && !fixed.empty()) {
      RUNNEL_TRY(check_fixed(pair.first, fixed, data));
      continue;
    }
    RUNNEL_TRY(port.status());
    files.emplace_back(*port, pair.second);
  }
  InputMap inputs;
  for (const auto& [tensor, path] : files) {
    RUNNEL_ASSIGN(inputs[tensor], read_values(model, tensor, path, call.sequence ? 1 : 0, tensor == streamed_input ? usage.time_axis : -1));
  }
  std::int64_t frames = 0, steps = -1;
  for (const std::int32_t tensor : model.inputs()) {
    const auto found = inputs.find(tensor);
    if (found == inputs.end()) {
      const bool is_state = std::any_of(states.begin(), states.end(), [&](const auto& pair) { return pair.second == tensor; });
      if (is_state) continue;
      return Status(Code::invalid_argument) << "no file for input " << tensor_label(model, tensor) << ' ' << shape_text(model.tensor(tensor).shape)
                                            << ": give -i " << tensor_label(model, tensor) << "=FILE";
    }
    if (call.sequence) {
      if (steps >= 0 && steps != found->second.shape[0]) return Status(Code::mismatch) << "inputs of " << steps << " and " << found->second.shape[0] << " steps";
      steps = found->second.shape[0];
      continue;
    }
    const int axis = model.plan() == nullptr ? -1 : model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
    if (axis < 0) continue;
    const std::int64_t length = found->second.shape[static_cast<std::size_t>(axis)];
    if (frames != 0 && frames != length) return Status(Code::mismatch) << "inputs of " << frames << " and " << length << " frames";
    frames = length;
  }
  RUNNEL_TRY(check_names(model, wanted));
  std::error_code error;
  fs::create_directories(call.output, error);
  if (error) return Status(Code::io_error) << call.output << ": cannot be created: " << error.message();
  if (call.sequence) return run_sequence(call, owned, inputs, std::max<std::int64_t>(steps, 0), states, wanted);
  if (by_usage && (usage.pairs != nullptr || inputs.at(streamed_input).shape[static_cast<std::size_t>(usage.time_axis)] != model.tensor(streamed_input).shape[usage.time_axis])) {
    if (inputs.size() > 1) return Status(Code::invalid_argument, "state starts at zero in a run of steps: give it with --sequence, or not at all");
    return run_stepped(call, owned, usage, inputs.at(streamed_input), wanted);
  }
  if (call.chunk > 0) return run_streamed(call, owned, inputs, frames, wanted);
  return run_whole(call, owned, inputs, frames, wanted);
}

}  // namespace

void add_infer(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<InferCall>();
  CLI::App* verb = app.add_subcommand("infer", "Run a model on raw tensors (.npy, or .bin in the model's type and shape order)");
  verb->add_option("MODEL", call->model, "Model file (.rnl, .espdl, .tflite, .pte, .onnx, or a manifest)")->required();
  verb->add_option("-i,--input", call->inputs, "NAME=FILE for each input; float32 is quantized with the tensor's scale")->default_str("");
  verb->add_option("-o,--output", call->output, "Folder for the outputs, one NAME.npy each")->required();
  verb->add_option("--chunk", call->chunk, "Run streamed, in blocks of this many frames (0: as the model is used: whole, in steps, in windows)")->check(CLI::NonNegativeNumber);
  verb->add_flag("--sequence", call->sequence, "Inputs have one more leading axis, the steps; outputs get the same");
  verb->add_option("--state", call->states, "OUTPUT=INPUT: copied from step to step; an input without -i starts at zero")->default_str("");
  add_model_flags(verb, call->flags);
  verb->add_option("--dump", call->dump, "Write these tensors besides the outputs: NAME,..., or all")->delimiter(',')->default_str("");
  add_threads_flag(verb, call->threads);
  verb->add_flag("--dequantize", call->dequantize, "Write quantized outputs as float32");
  verb->callback([call, &exit_code] {
    if (const Status status = run_infer(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
