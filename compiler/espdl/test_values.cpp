#include "compiler/espdl/test_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>
#include <string_view>

namespace runnel::compiler::espdl_source {
namespace {

using Bytes = std::vector<std::byte>;

std::size_t bytes_of_tensor(const Tensor& tensor) {
  return size_of(tensor.dtype) * element_count(tensor.shape);
}

// Integers over their whole range, floats from -1 to 1, other numbers zero: they may be indices.
Bytes random_values(const Tensor& tensor, std::mt19937& random) {
  Bytes data(bytes_of_tensor(tensor));
  if (tensor.dtype == DType::int8 || tensor.dtype == DType::int16) {
    for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  } else if (tensor.dtype == DType::float32) {
    for (std::size_t at = 0; at < data.size(); at += sizeof(float)) {
      const float value = static_cast<float>(static_cast<std::int32_t>(random() % 20001) - 10000) / 10000.0f;
      std::memcpy(data.data() + at, &value, sizeof value);
    }
  }
  return data;
}

// Frames [call * count, ..) of a recorded value along `axis`; empty when it is too short or of another shape.
Bytes part(const VectorTensor& recorded, const Tensor& tensor, int axis, int call) {
  if (recorded.shape == tensor.shape && (call == 0 || axis < 0)) return recorded.data;
  if (axis < 0 || recorded.shape.size() != tensor.shape.size()) return {};
  const auto a = static_cast<std::size_t>(axis);
  std::size_t front = 1, back = size_of(tensor.dtype);
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i != a && recorded.shape[i] != tensor.shape[i]) return {};
    if (i < a) front *= static_cast<std::size_t>(tensor.shape[i]);
    if (i > a) back *= static_cast<std::size_t>(tensor.shape[i]);
  }
  const auto frames = static_cast<std::size_t>(tensor.shape[a]),
             all = static_cast<std::size_t>(recorded.shape[a]),
             first = frames * static_cast<std::size_t>(call);
  if (first + frames > all || recorded.data.size() != front * all * back) return {};
  Bytes out;
  for (std::size_t i = 0; i < front; ++i) {
    const auto from = recorded.data.begin() + static_cast<std::ptrdiff_t>((i * all + first) * back);
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(frames * back));
  }
  return out;
}

// "call K, frames along axis A".
struct Call {
  int number = 0, axis = 0;
};
std::optional<Call> call_of(const Constant& value) {
  constexpr std::string_view kCall = "call ", kAxis = ", frames along axis ";
  std::string_view text = value.doc;
  Call call;
  const auto number = [&](std::string_view front, int& to) {
    if (!text.starts_with(front)) return false;
    text.remove_prefix(front.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc() || to < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (!number(kCall, call.number) || !number(kAxis, call.axis) || !text.empty()) return std::nullopt;
  return call;
}

}  // namespace

std::vector<std::vector<Bytes>> test_inputs(const Graph& graph, const std::vector<VectorCase>& recorded,
                                            int calls, const std::vector<int>& time_axes,
                                            std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Bytes>> out(static_cast<std::size_t>(calls));
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Tensor& tensor = graph.tensors[static_cast<std::size_t>(graph.inputs[i])];
    const VectorTensor* known = nullptr;
    for (const VectorCase& one : recorded) {
      for (const VectorTensor& value : one.inputs) {
        if (known == nullptr && value.tensor == graph.inputs[i]) known = &value;
      }
    }
    const int axis = i < time_axes.size() ? time_axes[i] : -1;
    bool fits = known != nullptr;
    std::vector<Bytes> parts;
    for (int call = 0; call < calls; ++call) {
      parts.push_back(fits ? part(*known, tensor, axis, call) : Bytes());
      fits = fits && parts.back().size() == bytes_of_tensor(tensor);
    }
    for (int call = 0; call < calls; ++call) {
      const auto k = static_cast<std::size_t>(call);
      out[k].push_back(fits ? std::move(parts[k]) : random_values(tensor, random));
    }
  }
  return out;
}

void label_call(Constant& value, int call, int axis) {
  if (call > 0) value.name += "#" + std::to_string(call);
  value.doc = "call " + std::to_string(call) + ", frames along axis " + std::to_string(axis);
}

std::optional<std::vector<Constant>> joined_calls(const std::vector<Constant>& values) {
  std::vector<Constant> out;
  std::vector<std::vector<const Constant*>> calls;  // per entry of `out`
  std::vector<std::size_t> axes;
  for (const Constant& value : values) {
    const auto call = call_of(value);
    if (call && call->number > 0) {
      const std::string name = value.name.substr(0, value.name.rfind('#'));
      const auto first =
          std::find_if(out.begin(), out.end(), [&](const Constant& entry) { return entry.name == name; });
      if (first == out.end()) return std::nullopt;
      auto& list = calls[static_cast<std::size_t>(first - out.begin())];
      if (static_cast<int>(list.size()) != call->number || value.dims != list[0]->dims ||
          value.dtype != list[0]->dtype)
        return std::nullopt;
      list.push_back(&value);
      continue;
    }
    if (call && static_cast<std::size_t>(call->axis) >= value.dims.size()) return std::nullopt;
    out.push_back(value);
    calls.push_back({&value});
    axes.push_back(call ? static_cast<std::size_t>(call->axis) : 0);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t count = calls[i].size();
    if (count == 1) continue;
    std::size_t front = 1;
    for (std::size_t a = 0; a < axes[i]; ++a) front *= static_cast<std::size_t>(out[i].dims[a]);
    if (front == 0) return std::nullopt;
    const std::size_t row = out[i].data.size() / front;
    out[i].data.clear();
    for (std::size_t f = 0; f < front; ++f) {
      for (const Constant* one : calls[i]) {
        const auto from = one->data.begin() + static_cast<std::ptrdiff_t>(f * row);
        out[i].data.insert(out[i].data.end(), from, from + static_cast<std::ptrdiff_t>(row));
      }
    }
    out[i].dims[axes[i]] *= static_cast<std::int64_t>(count);
    out[i].count *= static_cast<std::int64_t>(count);
  }
  return out;
}

std::optional<std::vector<Constant>> first_calls(const std::vector<Constant>& values) {
  std::vector<Constant> out;
  for (const Constant& value : values) {
    const auto call = call_of(value);
    if (!call || call->number == 0) out.push_back(value);
  }
  return out;
}

}  // namespace runnel::compiler::espdl_source
