#include "tests/compiler/import/pte/float64.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "tests/compiler/json_files.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

using nlohmann::json;
using Sizes = std::vector<std::int64_t>;

std::int64_t count_of(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

class Evaluator {
 public:
  Evaluator(const json& program, const std::vector<std::byte>& file)
      : program_(program),
        plan_(program.at("execution_plan").at(0)),
        values_(plan_.at("values")),
        file_(file) {}

  std::vector<Float64Tensor> run(const std::vector<std::vector<float>>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int value = plan_.at("inputs").at(i);
      tensors_[value] = {sizes_of(value), {inputs[i].begin(), inputs[i].end()}};
    }
    for (const json& instruction : plan_.at("chains").at(0).at("instructions")) {
      if (instruction.at("instr_args_type") != "KernelCall")
        throw std::runtime_error("an instruction that is no kernel");
      const json& call = instruction.at("instr_args");
      args_ = call.at("args").get<std::vector<int>>();
      const json& op = plan_.at("operators").at(call.value("op_index", 0));
      kernel(op.at("name").get<std::string>());
    }
    std::vector<Float64Tensor> out;
    for (const int value : plan_.at("outputs")) out.push_back(tensors_.at(value));
    return out;
  }

 private:
  Sizes sizes_of(int value) const {
    return values_.at(static_cast<std::size_t>(value)).at("val").at("sizes").get<Sizes>();
  }
  [[nodiscard]] bool is_none(std::size_t i) const {
    return values_.at(static_cast<std::size_t>(args_[i])).at("val_type") == "Null";
  }
  [[nodiscard]] std::int64_t integer(int value) const {
    return values_.at(static_cast<std::size_t>(value)).at("val").value("int_val", std::int64_t{0});
  }
  [[nodiscard]] std::int64_t integer_at(std::size_t i) const { return integer(args_[i]); }
  [[nodiscard]] double number_at(std::size_t i) const {
    const json& value = values_.at(static_cast<std::size_t>(args_[i]));
    return value.at("val_type") == "Int" ? static_cast<double>(integer_at(i))
                                         : value.at("val").value("double_val", 0.0);
  }
  [[nodiscard]] bool boolean_at(std::size_t i) const {
    return values_.at(static_cast<std::size_t>(args_[i])).at("val").value("bool_val", false);
  }
  [[nodiscard]] Sizes list_at(std::size_t i) const {
    Sizes out;
    for (const int item : values_.at(static_cast<std::size_t>(args_[i])).at("val").at("items"))
      out.push_back(integer(item));
    return out;
  }
  [[nodiscard]] std::vector<int> values_at(std::size_t i) const {
    return values_.at(static_cast<std::size_t>(args_[i])).at("val").at("items").get<std::vector<int>>();
  }

  const Float64Tensor& tensor(int value) {
    const auto found = tensors_.find(value);
    if (found != tensors_.end()) return found->second;
    const json& tensor = values_.at(static_cast<std::size_t>(value)).at("val");
    const int buffer = tensor.value("data_buffer_idx", 0);
    if (buffer == 0)
      throw std::runtime_error("value " + std::to_string(value) + " is read before it is written");
    Float64Tensor made{sizes_of(value), {}};
    std::vector<float> data(static_cast<std::size_t>(count_of(made.sizes)));
    const json segment = program_.value("constant_segment", json::object());
    if (segment.contains("offsets") && !segment.at("offsets").empty()) {
      std::uint64_t base = 0;
      std::memcpy(&base, file_.data() + 24, sizeof base);
      const json& place = program_.at("segments").at(segment.value("segment_index", 0));
      const std::uint64_t at =
          base + place.value("offset", std::uint64_t{0}) +
          segment.at("offsets").at(static_cast<std::size_t>(buffer)).get<std::uint64_t>();
      std::memcpy(data.data(), file_.data() + at, data.size() * sizeof(float));
    } else {
      const auto bytes = program_.at("constant_buffer")
                             .at(static_cast<std::size_t>(buffer))
                             .at("storage")
                             .get<std::vector<std::uint8_t>>();
      std::memcpy(data.data(), bytes.data(), data.size() * sizeof(float));
    }
    made.data.assign(data.begin(), data.end());
    return tensors_[value] = made;
  }
  const Float64Tensor& at(std::size_t i) { return tensor(args_[i]); }
  void set(int value, Float64Tensor result) {
    if (result.sizes != sizes_of(value))
      throw std::runtime_error("value " + std::to_string(value) + " has another size than computed");
    tensors_[value] = std::move(result);
  }
  void set_last(Float64Tensor result) { set(args_.back(), std::move(result)); }

  // Every index of a shape, with the number of its element.
  template <class Visit>
  static void each(const Sizes& sizes, const Visit& visit) {
    Sizes index(sizes.size(), 0);
    for (std::int64_t i = 0; i < count_of(sizes); ++i) {
      visit(index, static_cast<std::size_t>(i));
      for (std::size_t axis = sizes.size(); axis-- > 0;) {
        if (++index[axis] < sizes[axis]) break;
        index[axis] = 0;
      }
    }
  }
  static std::size_t place(const Sizes& sizes, const Sizes& index) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) at = at * sizes[i] + index[i];
    return static_cast<std::size_t>(at);
  }
  static std::size_t axis_of(std::int64_t axis, std::size_t rank) {
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
  }

  template <class Function>
  void each_value(const Function& function) {
    Float64Tensor y = at(0);
    for (double& value : y.data) value = function(value);
    set_last(std::move(y));
  }
  template <class Function>
  void pair(const Function& function) {
    const Float64Tensor a = at(0), b = at(1);
    Float64Tensor y{sizes_of(args_.back()), {}};
    y.data.resize(static_cast<std::size_t>(count_of(y.sizes)));
    const auto from = [&](const Float64Tensor& x, const Sizes& index) {
      Sizes own(x.sizes.size());
      const std::size_t skipped = index.size() - x.sizes.size();
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = x.sizes[i] == 1 ? 0 : index[i + skipped];
      return x.data[place(x.sizes, own)];
    };
    each(y.sizes,
         [&](const Sizes& index, std::size_t i) { y.data[i] = function(from(a, index), from(b, index)); });
    set_last(std::move(y));
  }
  // The same data under another shape.
  void view() {
    Float64Tensor y = at(0);
    y.sizes = sizes_of(args_.back());
    set_last(std::move(y));
  }

  void convolution() {
    const Float64Tensor x = at(0), w = at(1);
    const Sizes stride = list_at(3), pad = list_at(4), dilation = list_at(5);
    const std::int64_t groups = integer_at(8);
    const std::size_t axes = x.sizes.size() - 2;
    Float64Tensor y{sizes_of(args_.back()), {}};
    y.data.resize(static_cast<std::size_t>(count_of(y.sizes)));
    const Sizes kernel(w.sizes.begin() + 1, w.sizes.end());
    each(y.sizes, [&](const Sizes& out, std::size_t i) {
      double sum = is_none(2) ? 0 : at(2).data[static_cast<std::size_t>(out[1])];
      const std::int64_t first = out[1] / (y.sizes[1] / groups) * w.sizes[1];
      each(kernel, [&](const Sizes& tap, std::size_t) {
        Sizes in{out[0], first + tap[0]}, weight{out[1]};
        weight.insert(weight.end(), tap.begin(), tap.end());
        bool inside = true;
        for (std::size_t axis = 0; axis < axes; ++axis) {
          const auto number = [axis](const Sizes& list) { return list[std::min(axis, list.size() - 1)]; };
          in.push_back(out[axis + 2] * number(stride) - number(pad) + tap[axis + 1] * number(dilation));
          inside = inside && in.back() >= 0 && in.back() < x.sizes[axis + 2];
        }
        if (inside) sum += x.data[place(x.sizes, in)] * w.data[place(w.sizes, weight)];
      });
      y.data[i] = sum;
    });
    set_last(std::move(y));
  }
  void max_pool() {
    const Float64Tensor x = at(0);
    const Sizes kernel = list_at(1), stride = list_at(2), pad = list_at(3);
    Float64Tensor y{sizes_of(args_[6]), {}};
    y.data.assign(static_cast<std::size_t>(count_of(y.sizes)), -1e300);
    each(y.sizes, [&](const Sizes& out, std::size_t i) {
      each(kernel, [&](const Sizes& tap, std::size_t) {
        const Sizes in{out[0], out[1], out[2] * stride[0] - pad[0] + tap[0],
                       out[3] * stride[1] - pad[1] + tap[1]};
        if (in[2] >= 0 && in[2] < x.sizes[2] && in[3] >= 0 && in[3] < x.sizes[3])
          y.data[i] = std::max(y.data[i], x.data[place(x.sizes, in)]);
      });
    });
    set(args_[6], std::move(y));
  }
  void batch_norm() {
    Float64Tensor y = at(0);
    const Float64Tensor weight = at(1), bias = at(2), mean = at(3), variance = at(4);
    const double epsilon = number_at(6);
    each(y.sizes, [&](const Sizes& index, std::size_t i) {
      const auto c = static_cast<std::size_t>(index[1]);
      y.data[i] =
          (y.data[i] - mean.data[c]) / std::sqrt(variance.data[c] + epsilon) * weight.data[c] + bias.data[c];
    });
    set(args_[7], std::move(y));
  }
  void mean() {
    const Float64Tensor x = at(0);
    std::vector<bool> gone(x.sizes.size(), false);
    for (const std::int64_t axis : list_at(1)) gone[axis_of(axis, gone.size())] = true;
    Sizes kept = x.sizes;
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = gone[i] ? 1 : kept[i];
    Float64Tensor y{kept, std::vector<double>(static_cast<std::size_t>(count_of(kept)), 0.0)};
    each(x.sizes, [&](const Sizes& index, std::size_t i) {
      Sizes own = index;
      for (std::size_t axis = 0; axis < own.size(); ++axis) own[axis] = gone[axis] ? 0 : own[axis];
      y.data[place(kept, own)] += x.data[i];
    });
    for (double& value : y.data)
      value *= static_cast<double>(y.data.size()) / static_cast<double>(x.data.size());
    y.sizes = sizes_of(args_.back());
    set_last(std::move(y));
  }
  void product(std::size_t first) {
    const Float64Tensor a = at(first), b = at(first + 1);
    Float64Tensor y{sizes_of(args_.back()), {}};
    y.data.resize(static_cast<std::size_t>(count_of(y.sizes)));
    each(y.sizes, [&](const Sizes& index, std::size_t i) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.sizes[1]; ++k)
        sum += a.data[place(a.sizes, {index[0], k})] * b.data[place(b.sizes, {k, index[1]})];
      y.data[i] = sum + (first == 1 ? at(0).data[static_cast<std::size_t>(index[1])] : 0.0);
    });
    set_last(std::move(y));
  }
  void softmax() {
    const Float64Tensor x = at(0);
    const std::size_t axis = axis_of(integer_at(1), x.sizes.size());
    Float64Tensor y = x;
    each(x.sizes, [&](const Sizes& index, std::size_t i) {
      double sum = 0;
      Sizes other = index;
      for (other[axis] = 0; other[axis] < x.sizes[axis]; ++other[axis])
        sum += std::exp(x.data[place(x.sizes, other)] - x.data[i]);
      y.data[i] = 1 / sum;
    });
    set_last(std::move(y));
  }
  void permute() {
    const Float64Tensor x = at(0);
    const Sizes order = list_at(1);
    Float64Tensor y{{}, std::vector<double>(x.data.size())};
    for (const std::int64_t axis : order) y.sizes.push_back(x.sizes[axis_of(axis, order.size())]);
    each(y.sizes, [&](const Sizes& index, std::size_t i) {
      Sizes from(index.size());
      for (std::size_t axis = 0; axis < index.size(); ++axis)
        from[axis_of(order[axis], order.size())] = index[axis];
      y.data[i] = x.data[place(x.sizes, from)];
    });
    set_last(std::move(y));
  }
  // Elements from `begin` on along one axis, in the shape of `value`, whose axis may have gone.
  void part(int value, std::size_t axis, std::int64_t begin, std::int64_t count) {
    const Float64Tensor x = at(0);
    Sizes shape = x.sizes;
    shape[axis] = count;
    Float64Tensor y{sizes_of(value), {}};
    each(shape, [&](const Sizes& index, std::size_t) {
      Sizes from = index;
      from[axis] += begin;
      y.data.push_back(x.data[place(x.sizes, from)]);
    });
    set(value, std::move(y));
  }
  void cat() {
    const std::vector<int> parts = values_at(0);
    Float64Tensor y{sizes_of(args_.back()), {}};
    y.data.resize(static_cast<std::size_t>(count_of(y.sizes)));
    const std::size_t axis = axis_of(integer_at(1), y.sizes.size());
    std::int64_t begin = 0;
    for (const int value : parts) {
      const Float64Tensor x = tensor(value);
      each(x.sizes, [&](const Sizes& index, std::size_t i) {
        Sizes to = index;
        to[axis] += begin;
        y.data[place(y.sizes, to)] = x.data[i];
      });
      begin += x.sizes[axis];
    }
    set_last(std::move(y));
  }

  void kernel(const std::string& name) {
    if (name == "aten::convolution") return convolution();
    if (name == "aten::max_pool2d_with_indices") return max_pool();
    if (name == "aten::_native_batch_norm_legit_no_training") return batch_norm();
    if (name == "aten::mean") return mean();
    if (name == "aten::addmm") return product(1);
    if (name == "aten::mm") return product(0);
    if (name == "aten::_softmax") return softmax();
    if (name == "aten::permute_copy") return permute();
    if (name == "aten::cat") return cat();
    if (name == "aten::relu") return each_value([](double x) { return std::max(x, 0.0); });
    if (name == "aten::sigmoid") return each_value([](double x) { return 1 / (1 + std::exp(-x)); });
    if (name == "aten::tanh") return each_value([](double x) { return std::tanh(x); });
    if (name == "aten::mul") return pair([](double a, double b) { return a * b; });
    if (name == "aten::add") {
      const double alpha = number_at(2);
      return pair([alpha](double a, double b) { return a + alpha * b; });
    }
    if (name == "aten::unsqueeze_copy" || name == "aten::squeeze_copy" || name == "executorch_prim::et_view")
      return view();
    if (name == "aten::full") {
      Float64Tensor y{list_at(0), {}};
      y.data.assign(static_cast<std::size_t>(count_of(y.sizes)), number_at(1));
      return set_last(std::move(y));
    }
    if (name == "aten::select_copy")
      return part(args_.back(), axis_of(integer_at(1), at(0).sizes.size()), integer_at(2), 1);
    if (name == "aten::slice_copy") {
      if (integer_at(4) != 1) throw std::runtime_error("a slice in steps");
      return part(args_.back(), axis_of(integer_at(1), at(0).sizes.size()), integer_at(2),
                  integer_at(3) - integer_at(2));
    }
    if (name == "aten::split_with_sizes_copy") {
      std::int64_t begin = 0;
      const Sizes sizes = list_at(1);
      const std::vector<int> outputs = values_at(3);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        part(outputs[i], axis_of(integer_at(2), at(0).sizes.size()), begin, sizes[i]);
        begin += sizes[i];
      }
      return;
    }
    throw std::runtime_error("kernel " + name);
  }

  const json& program_;
  const json& plan_;
  const json& values_;
  const std::vector<std::byte>& file_;
  std::map<int, Float64Tensor> tensors_;
  std::vector<int> args_;
};

}  // namespace

std::vector<Float64Tensor> evaluate_float64(const std::filesystem::path& program,
                                            const std::filesystem::path& json,
                                            const std::vector<std::vector<float>>& inputs) {
  const auto decoded = read_json(json);
  const std::vector<std::byte> file = read_file(program);
  return Evaluator(decoded, file).run(inputs);
}

std::vector<std::size_t> input_sizes(const std::filesystem::path& path) {
  const json decoded = read_json(path);
  const json& plan = decoded.at("execution_plan").at(0);
  std::vector<std::size_t> out;
  for (const std::size_t value : plan.at("inputs"))
    out.push_back(
        static_cast<std::size_t>(count_of(plan.at("values").at(value).at("val").at("sizes").get<Sizes>())));
  return out;
}

}  // namespace runnel::test
