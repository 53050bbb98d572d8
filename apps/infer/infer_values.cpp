// Reads and writes the tensors of `runnel infer`.
#include <algorithm>

#include "apps/infer/infer_call.h"
#include "base/host/npy.h"
#include "base/suggest.h"
#include "kernels/elementwise/affine.h"
#include "kernels/elementwise/elementwise.h"
#include "services/calibrate/model_front_end.h"

namespace runnel::apps {

using calibrate::is_recording;
using calibrate::recording_as_input;
namespace {

namespace fs = std::filesystem;

// Quantized tensors: with one power-of-two scale, or with any scale and a zero point.
bool has_scale(const TensorView& tensor) {
  if (tensor.scales.size() == 1)
    return tensor.dtype == DType::int8 || tensor.dtype == DType::uint8 || tensor.dtype == DType::int16 ||
           tensor.dtype == DType::int32;
  return (tensor.dtype == DType::int8 || tensor.dtype == DType::int16) && tensor.exponents.size() == 1;
}

}  // namespace

Result<Values> read_values(const Model& model, int index, const fs::path& path, int leading, int open_axis) {
  const TensorView tensor = model.tensor(index);
  Values values;
  if (path.extension() == ".npy" || is_recording(path)) {
    RUNNEL_ASSIGN(NpyArray array,
                  is_recording(path) ? recording_as_input(model, index, path) : read_npy(path));
    values.shape = array.shape;
    if (array.dtype == tensor.dtype) {
      values.bytes = std::move(array.data);
    } else if (array.dtype == DType::float32 && has_scale(tensor)) {
      values.bytes = quantize_for(model, tensor, array.data);
    } else {
      return Status(Code::mismatch) << path.string() << ": " << name_of(array.dtype) << ", expected "
                                    << name_of(tensor.dtype) << (has_scale(tensor) ? " or float32" : "")
                                    << " for input " << tensor_label(model, index);
    }
  } else {
    RUNNEL_ASSIGN(values.bytes, read_whole_file(path));
    for (int axis = 0; axis < tensor.shape.rank; ++axis) values.shape.push_back(tensor.shape[axis]);
    // A raw file has no shape: its size gives the length of the time axis (or of the sequence).
    if (tensor.bytes() == 0 || values.bytes.size() % tensor.bytes() != 0) {
      const int axis = model.plan() != nullptr
                           ? model.plan()->tensors()->Get(static_cast<std::uint32_t>(index))->time_axis()
                           : open_axis;
      const std::size_t frame =
          axis < 0 ? tensor.bytes() : tensor.bytes() / static_cast<std::size_t>(tensor.shape[axis]);
      if (axis < 0 || leading > 0 || values.bytes.size() % frame != 0) {
        return Status(Code::mismatch)
               << path.string() << ": " << values.bytes.size() << " bytes, expected a multiple of "
               << (axis < 0 ? tensor.bytes() : frame) << " for input " << tensor_label(model, index);
      }
      values.shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(values.bytes.size() / frame);
    } else if (leading > 0) {
      values.shape.insert(values.shape.begin(),
                          static_cast<std::int64_t>(values.bytes.size() / tensor.bytes()));
    } else if (values.bytes.size() != tensor.bytes()) {
      const int axis = model.plan() != nullptr
                           ? model.plan()->tensors()->Get(static_cast<std::uint32_t>(index))->time_axis()
                           : open_axis;
      if (axis < 0)
        return Status(Code::mismatch)
               << path.string() << ": " << values.bytes.size() << " bytes, expected " << tensor.bytes();
      values.shape[static_cast<std::size_t>(axis)] *=
          static_cast<std::int64_t>(values.bytes.size() / tensor.bytes());
    }
  }
  if (values.shape.size() != static_cast<std::size_t>(tensor.shape.rank + leading)) {
    return Status(Code::mismatch) << path.string() << ": rank " << values.shape.size() << ", expected "
                                  << tensor.shape.rank + leading << " for input "
                                  << tensor_label(model, index) << ' ' << shape_text(tensor.shape)
                                  << (leading > 0 ? " and one leading axis of steps" : "");
  }
  const int planned = leading > 0 || model.plan() == nullptr
                          ? -1
                          : model.plan()->tensors()->Get(static_cast<std::uint32_t>(index))->time_axis();
  const int time = planned >= 0 || leading > 0 ? planned : open_axis;
  for (int axis = 0; axis < tensor.shape.rank; ++axis) {
    const std::int64_t found = values.shape[static_cast<std::size_t>(axis + leading)];
    if (axis != time && found != tensor.shape[axis]) {
      return Status(Code::mismatch)
             << path.string() << ": " << found << " on axis " << axis + leading << ", expected "
             << tensor.shape[axis] << " for input " << tensor_label(model, index) << ' '
             << shape_text(tensor.shape)
             << (model.plan() == nullptr
                     ? "; a model of whole clips keeps the length of its import (import --shape): "
                       "where the original file leaves it open, run infer on that file"
                     : "");
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
    if (tensor.scales.empty())
      kernels::elementwise(best_isa())
          .dequantize(dtype, count, values.bytes.data(), reals, tensor.exponent());
    else
      kernels::affine_dequantize({dtype, tensor.scales[0], tensor.zero_point()}, count, values.bytes.data(),
                                 reals);
    values.bytes = std::move(floats);
    dtype = DType::float32;
  }
  return write_npy(fs::path(call.output) / (file_name_of(tensor_label(model, index)) + ".npy"), dtype,
                   values.shape, values.bytes);
}

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
    const auto found = std::find_if(computed.begin(), computed.end(),
                                    [&](int tensor) { return tensor_label(model, tensor) == name; });
    if (found != computed.end()) {
      add(list, *found);
      continue;
    }
    Suggestion nearest(name);
    std::vector<std::string> labels;  // the suggestion holds views of them
    for (const int tensor : computed) labels.push_back(tensor_label(model, tensor));
    for (const std::string& label : labels) nearest.consider(label);
    Status status(Code::not_found);
    status << "--dump " << name << ": no operator computes a tensor of this name";
    if (!nearest.best().empty()) status << ", did you mean " << nearest.best() << '?';
    return status;
  }
  return list;
}

Status check_names(const Model& model, const std::vector<int>& wanted) {
  std::map<std::string, int> taken;
  for (const int tensor : wanted) {
    const std::string name = file_name_of(tensor_label(model, tensor)) + ".npy";
    const auto [other, fresh] = taken.emplace(name, tensor);
    if (fresh) continue;
    return Status(Code::invalid_argument) << "tensors " << tensor_label(model, other->second) << " and "
                                          << tensor_label(model, tensor) << " would both become " << name;
  }
  return {};
}

}  // namespace runnel::apps
