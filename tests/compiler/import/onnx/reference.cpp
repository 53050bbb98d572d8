#include "tests/compiler/import/onnx/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

namespace runnel::test {
namespace {

using ::onnx::TensorProto;
using Dims = std::vector<std::int64_t>;

std::int64_t count_of(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

template <class T>
void read_raw(const std::string& raw, std::vector<double>& values) {
  for (std::size_t i = 0; i < raw.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, raw.data() + i * sizeof value, sizeof value);
    values.push_back(static_cast<double>(value));
  }
}

Array array_of(const TensorProto& tensor) {
  Array out{{tensor.dims().begin(), tensor.dims().end()}, {}};
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      read_raw<float>(raw, out.values);
      break;
    case TensorProto::INT8:
      read_raw<std::int8_t>(raw, out.values);
      break;
    case TensorProto::UINT8:
      read_raw<std::uint8_t>(raw, out.values);
      break;
    case TensorProto::INT16:
      read_raw<std::int16_t>(raw, out.values);
      break;
    case TensorProto::INT32:
      read_raw<std::int32_t>(raw, out.values);
      break;
    default:
      read_raw<std::int64_t>(raw, out.values);
      break;
  }
  if (raw.empty()) {
    out.values.insert(out.values.end(), tensor.float_data().begin(), tensor.float_data().end());
    out.values.insert(out.values.end(), tensor.int32_data().begin(), tensor.int32_data().end());
    out.values.insert(out.values.end(), tensor.int64_data().begin(), tensor.int64_data().end());
  }
  return out;
}

struct Limits {
  double low, high;
};
Limits limits_of(int type) {
  switch (type) {
    case TensorProto::INT8:
      return {-128, 127};
    case TensorProto::INT16:
      return {-32768, 32767};
    default:
      return {0, 255};
  }
}

class Evaluation {
 public:
  Evaluation(const ::onnx::ModelProto& model, std::map<std::string, Array> values) : all(std::move(values)) {
    for (const auto& tensor : model.graph().initializer()) {
      all[tensor.name()] = array_of(tensor);
      types_[tensor.name()] = tensor.data_type();
    }
    for (const auto& node : model.graph().node()) step(node);
  }

  std::map<std::string, Array> all;

 private:
  const Array& in(int i) { return all.at(node_->input(i)); }
  bool has(int i) const { return i < node_->input_size() && !node_->input(i).empty(); }
  const ::onnx::AttributeProto* attribute(const std::string& name) const {
    for (const auto& entry : node_->attribute()) {
      if (entry.name() == name) return &entry;
    }
    return nullptr;
  }
  Dims list(const std::string& name, std::size_t count, std::int64_t otherwise) const {
    const auto* given = attribute(name);
    return given == nullptr ? Dims(count, otherwise) : Dims(given->ints().begin(), given->ints().end());
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return attribute(name) == nullptr ? otherwise : attribute(name)->i();
  }
  double real(const std::string& name, double otherwise) const {
    return attribute(name) == nullptr ? otherwise : static_cast<double>(attribute(name)->f());
  }
  Dims integers(int i, const std::string& name) {
    if (!has(i)) return list(name, 0, 0);
    Dims out;
    for (const double value : in(i).values) out.push_back(static_cast<std::int64_t>(value));
    return out;
  }

  // Calls body(index, flat) for every index of a shape.
  static void each(const Dims& dims, const std::function<void(const Dims&, std::size_t)>& body) {
    Dims at(dims.size(), 0);
    for (std::int64_t i = 0, count = count_of(dims); i < count; ++i) {
      body(at, static_cast<std::size_t>(i));
      for (std::size_t axis = dims.size(); axis-- > 0;) {
        if (++at[axis] < dims[axis]) break;
        at[axis] = 0;
      }
    }
  }
  static double at(const Array& x, const Dims& index) {  // broadcast from the right
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < x.dims.size(); ++i) {
      const std::int64_t value = index[index.size() - x.dims.size() + i];
      flat = flat * x.dims[i] + (x.dims[i] == 1 ? 0 : value);
    }
    return x.values[static_cast<std::size_t>(flat)];
  }

  Array map(const std::function<double(double)>& f) {
    Array out = in(0);
    for (double& value : out.values) value = f(value);
    return out;
  }
  Array pairs(const std::function<double(double, double)>& f) {
    const Array &a = in(0), &b = in(1);
    Array out;
    out.dims.assign(std::max(a.dims.size(), b.dims.size()), 1);
    for (const Array* x : {&a, &b}) {
      for (std::size_t i = 0; i < x->dims.size(); ++i) {
        std::int64_t& dim = out.dims[out.dims.size() - x->dims.size() + i];
        dim = std::max(dim, x->dims[i]);
      }
    }
    out.values.resize(static_cast<std::size_t>(count_of(out.dims)));
    each(out.dims, [&](const Dims& index, std::size_t i) { out.values[i] = f(at(a, index), at(b, index)); });
    return out;
  }

  // Scale and zero point of an index: one for all, or along `axis`.
  Array scaled(bool forwards) {
    Array out = in(0);
    const Array &scale = in(1),
                zero = has(2) ? in(2) : Array{{}, std::vector<double>(scale.values.size(), 0)};
    const std::int64_t axis = integer("axis", 1), rank = static_cast<std::int64_t>(out.dims.size());
    const Limits limits = limits_of(has(2) ? types_.at(node_->input(2)) : TensorProto::UINT8);
    each(out.dims, [&](const Dims& index, std::size_t i) {
      const std::size_t entry =
          scale.values.size() == 1
              ? 0
              : static_cast<std::size_t>(index[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
      double& value = out.values[i];
      if (forwards)
        value = std::clamp(std::nearbyint(value / scale.values[entry]) + zero.values[entry], limits.low,
                           limits.high);
      else
        value = (value - zero.values[entry]) * scale.values[entry];
    });
    return out;
  }

  // The window of a convolution or pool: body(output index, kernel index, input position) for what lies
  // inside of the input.
  Dims window(const Dims& kernel, const std::function<void(const Dims&, const Dims&, const Dims&)>& body) {
    const Array& x = in(0);
    const std::size_t axes = kernel.size();
    const Dims stride = list("strides", axes, 1), dilation = list("dilations", axes, 1),
               pads = list("pads", 2 * axes, 0);
    Dims size;
    for (std::size_t i = 0; i < axes; ++i)
      size.push_back(
          (x.dims[i + 2] + pads[i] + pads[i + axes] - (kernel[i] - 1) * dilation[i] - 1) / stride[i] + 1);
    each(size, [&](const Dims& to, std::size_t) {
      each(kernel, [&](const Dims& tap, std::size_t) {
        Dims from;
        bool inside = true;
        for (std::size_t i = 0; i < axes; ++i) {
          from.push_back(to[i] * stride[i] + tap[i] * dilation[i] - pads[i]);
          inside = inside && from[i] >= 0 && from[i] < x.dims[i + 2];
        }
        if (inside) body(to, tap, from);
      });
    });
    return size;
  }
  static std::size_t flat(const Dims& dims, const Dims& index) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + index[i];
    return static_cast<std::size_t>(at);
  }
  static Dims joined(Dims a, const Dims& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static std::int64_t out_size(std::int64_t in, std::int64_t pads, std::int64_t kernel, std::int64_t dilation,
                               std::int64_t stride) {
    return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
  }
  Dims sizes(const Dims& kernel) {
    const std::size_t axes = kernel.size();
    const Dims stride = list("strides", axes, 1), dilation = list("dilations", axes, 1),
               pads = list("pads", 2 * axes, 0);
    Dims size;
    for (std::size_t i = 0; i < axes; ++i)
      size.push_back(
          out_size(in(0).dims[i + 2], pads[i] + pads[i + axes], kernel[i], dilation[i], stride[i]));
    return size;
  }

  Array conv() {
    const Array &x = in(0), &w = in(1);
    const Dims kernel(w.dims.begin() + 2, w.dims.end());
    const std::int64_t outputs = w.dims[0], each_in = w.dims[1], groups = integer("group", 1),
                       each_out = outputs / groups;
    Array out{joined({x.dims[0], outputs}, sizes(kernel)), {}};
    out.values.assign(static_cast<std::size_t>(count_of(out.dims)), 0);
    each(out.dims, [&](const Dims& index, std::size_t i) {
      out.values[i] = has(2) ? in(2).values[static_cast<std::size_t>(index[1])] : 0.0;
    });
    window(kernel, [&](const Dims& to, const Dims& tap, const Dims& from) {
      for (std::int64_t b = 0; b < x.dims[0]; ++b) {
        for (std::int64_t n = 0; n < outputs; ++n) {
          double& sum = out.values[flat(out.dims, joined({b, n}, to))];
          for (std::int64_t c = 0; c < each_in; ++c) {
            sum += w.values[flat(w.dims, joined({n, c}, tap))] *
                   x.values[flat(x.dims, joined({b, n / each_out * each_in + c}, from))];
          }
        }
      }
    });
    return out;
  }

  Array pool(bool largest) {
    const Array& x = in(0);
    const Dims kernel = node_->op_type().starts_with("Global") ? Dims(x.dims.begin() + 2, x.dims.end())
                                                               : list("kernel_shape", 0, 0);
    Array out{joined({x.dims[0], x.dims[1]}, sizes(kernel)), {}}, taken = out;
    out.values.assign(static_cast<std::size_t>(count_of(out.dims)), largest ? -HUGE_VAL : 0.0);
    taken.values.assign(out.values.size(), 0);
    window(kernel, [&](const Dims& to, const Dims&, const Dims& from) {
      for (std::int64_t b = 0; b < x.dims[0]; ++b) {
        for (std::int64_t c = 0; c < x.dims[1]; ++c) {
          const std::size_t i = flat(out.dims, joined({b, c}, to));
          const double value = x.values[flat(x.dims, joined({b, c}, from))];
          out.values[i] = largest ? std::max(out.values[i], value) : out.values[i] + value;
          ++taken.values[i];
        }
      }
    });
    for (std::size_t i = 0; i < out.values.size() && !largest; ++i)
      out.values[i] /=
          integer("count_include_pad", 0) != 0 ? static_cast<double>(count_of(kernel)) : taken.values[i];
    return out;
  }

  // [.., M, K] x [K, N] or [.., K, N].
  Array product(const Array& a, const Array& b) {
    const std::int64_t rows = a.dims[a.dims.size() - 2], inner = a.dims.back(), columns = b.dims.back(),
                       batch = count_of(a.dims) / (rows * inner);
    Array out{a.dims, {}};
    out.dims.back() = columns;
    for (std::int64_t m = 0; m < batch * rows; ++m) {
      const std::int64_t offset = b.dims.size() > 2 ? m / rows * inner * columns : 0;
      for (std::int64_t n = 0; n < columns; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += a.values[static_cast<std::size_t>(m * inner + k)] *
                 b.values[static_cast<std::size_t>(offset + k * columns + n)];
        out.values.push_back(sum);
      }
    }
    return out;
  }
  static Array transposed(const Array& x, const Dims& perm) {
    Array out;
    for (const std::int64_t axis : perm) out.dims.push_back(x.dims[static_cast<std::size_t>(axis)]);
    out.values.resize(x.values.size());
    each(out.dims, [&](const Dims& index, std::size_t i) {
      Dims from(perm.size());
      for (std::size_t k = 0; k < perm.size(); ++k) from[static_cast<std::size_t>(perm[k])] = index[k];
      out.values[i] = x.values[flat(x.dims, from)];
    });
    return out;
  }
  Array gemm() {
    const Array a = in(0), b = integer("transB", 0) != 0 ? transposed(in(1), {1, 0}) : in(1);
    Array out = product(a, b);
    each(out.dims,
         [&](const Dims& index, std::size_t i) { out.values[i] += has(2) ? at(in(2), index) : 0.0; });
    return out;
  }

  Array concat() {
    Array out = in(0);
    std::int64_t axis = integer("axis", 0);
    if (axis < 0) axis += static_cast<std::int64_t>(out.dims.size());
    std::int64_t total = 0;
    for (int i = 0; i < node_->input_size(); ++i) total += in(i).dims[static_cast<std::size_t>(axis)];
    out.dims[static_cast<std::size_t>(axis)] = total;
    out.values.assign(static_cast<std::size_t>(count_of(out.dims)), 0);
    std::int64_t offset = 0;
    for (int i = 0; i < node_->input_size(); ++i) {
      each(in(i).dims, [&](const Dims& index, std::size_t k) {
        Dims to = index;
        to[static_cast<std::size_t>(axis)] += offset;
        out.values[flat(out.dims, to)] = in(i).values[k];
      });
      offset += in(i).dims[static_cast<std::size_t>(axis)];
    }
    return out;
  }
  Array slice() {
    const Array& x = in(0);
    const Dims starts = integers(1, "starts"), ends = integers(2, "ends"), axes = integers(3, "axes");
    Array out{x.dims, {}};
    Dims begin(x.dims.size(), 0);
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto axis =
          static_cast<std::size_t>(axes.empty()  ? static_cast<std::int64_t>(i)
                                   : axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(x.dims.size())
                                                 : axes[i]);
      const std::int64_t size = x.dims[axis];
      const auto inside = [size](std::int64_t value) {
        return std::clamp<std::int64_t>(value < 0 ? value + size : value, 0, size);
      };
      begin[axis] = inside(starts[i]);
      out.dims[axis] = inside(ends[i]) - begin[axis];
    }
    each(out.dims, [&](const Dims& index, std::size_t) {
      Dims from = index;
      for (std::size_t i = 0; i < from.size(); ++i) from[i] += begin[i];
      out.values.push_back(x.values[flat(x.dims, from)]);
    });
    return out;
  }
  Array softmax() {
    Array out = in(0);
    const std::size_t row = static_cast<std::size_t>(out.dims.back());
    for (std::size_t i = 0; i < out.values.size(); i += row) {
      const double most = *std::max_element(out.values.begin() + static_cast<std::ptrdiff_t>(i),
                                            out.values.begin() + static_cast<std::ptrdiff_t>(i + row));
      double sum = 0;
      for (std::size_t k = 0; k < row; ++k) sum += out.values[i + k] = std::exp(out.values[i + k] - most);
      for (std::size_t k = 0; k < row; ++k) out.values[i + k] /= sum;
    }
    return out;
  }
  Array mean() {
    const Array& x = in(0);
    Dims axes = integers(1, "axes"), kept = x.dims;
    for (std::int64_t& axis : axes)
      kept[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.dims.size()) : axis)] = 1;
    Array out{kept, std::vector<double>(static_cast<std::size_t>(count_of(kept)), 0)};
    each(x.dims, [&](const Dims& index, std::size_t i) {
      Dims to = index;
      for (std::size_t k = 0; k < to.size(); ++k) to[k] = kept[k] == 1 ? 0 : to[k];
      out.values[flat(kept, to)] +=
          x.values[i] * static_cast<double>(out.values.size()) / static_cast<double>(x.values.size());
    });
    if (integer("keepdims", 1) == 0) {
      Dims dims;
      for (std::size_t i = 0; i < kept.size(); ++i) {
        const bool gone = std::any_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
          return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(kept.size()) : axis) ==
                 i;
        });
        if (!gone) dims.push_back(kept[i]);
      }
      out.dims = dims;
    }
    return out;
  }
  Array reshaped() {
    Array out = in(0);
    if (node_->op_type() == "Flatten") {
      out.dims = {out.dims[0], count_of(out.dims) / out.dims[0]};
      return out;
    }
    Dims dims = integers(1, "shape");
    for (std::int64_t& dim : dims) {
      if (dim == -1) dim = count_of(out.dims) / -count_of(dims);
    }
    out.dims = dims;
    return out;
  }
  Dims order() {
    Dims perm(in(0).dims.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(perm.size() - 1 - i);
    return attribute("perm") == nullptr ? perm : list("perm", 0, 0);
  }

  void step(const ::onnx::NodeProto& node) {
    node_ = &node;
    all[node.output(0)] = result(node.op_type());
    if (node.op_type() == "QuantizeLinear" && has(2)) types_[node.output(0)] = types_.at(node.input(2));
  }
  Array result(const std::string& op) {
    if (op == "QuantizeLinear") return scaled(true);
    if (op == "DequantizeLinear") return scaled(false);
    if (op == "Conv") return conv();
    if (op == "Gemm") return gemm();
    if (op == "MatMul") return product(in(0), in(1));
    if (op == "Add") return pairs([](double a, double b) { return a + b; });
    if (op == "Sub") return pairs([](double a, double b) { return a - b; });
    if (op == "Mul") return pairs([](double a, double b) { return a * b; });
    if (op == "Div") return pairs([](double a, double b) { return a / b; });
    if (op == "Max") return pairs([](double a, double b) { return std::max(a, b); });
    if (op == "Min") return pairs([](double a, double b) { return std::min(a, b); });
    if (op == "Relu") return map([](double x) { return std::max(x, 0.0); });
    if (op == "Sigmoid") return map([](double x) { return 1 / (1 + std::exp(-x)); });
    if (op == "Tanh") return map([](double x) { return std::tanh(x); });
    if (op == "LeakyRelu") return map([&](double x) { return x < 0 ? x * real("alpha", 0.01) : x; });
    if (op == "Clip")
      return map([&](double x) { return std::min(std::max(x, in(1).values[0]), in(2).values[0]); });
    if (op == "GlobalAveragePool" || op == "AveragePool") return pool(false);
    if (op == "MaxPool") return pool(true);
    if (op == "Concat") return concat();
    if (op == "Slice") return slice();
    if (op == "Softmax") return softmax();
    if (op == "ReduceMean") return mean();
    if (op == "Transpose") return transposed(in(0), order());
    if (op == "Reshape" || op == "Flatten") return reshaped();
    if (op == "Identity") return in(0);
    throw std::runtime_error("the reference does not know " + op);
  }

  const ::onnx::NodeProto* node_ = nullptr;
  std::map<std::string, int> types_;
};

}  // namespace

std::map<std::string, Array> evaluate(const ::onnx::ModelProto& model, std::map<std::string, Array> inputs) {
  return Evaluation(model, std::move(inputs)).all;
}

}  // namespace runnel::test
