#include "compiler/quantize/calibrate/calibration_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/crc32c.h"
#include "base/host/json/nesting.h"
#include "base/limits.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/train/random.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

using nlohmann::ordered_json;
using Json = ordered_json;

constexpr std::string_view kFormat = "runnel calibration table";
constexpr int kVersion = 1;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
constexpr double kLargest = 1e30;

// Of everything that computes: the operators and their constants, in order.
std::uint32_t checksum_of(const Graph& graph) {
  std::uint32_t sum = 0;
  for (const Node& node : graph.nodes) {
    const auto code = static_cast<std::uint32_t>(node.code);
    sum = crc32c(std::as_bytes(std::span(&code, 1)), sum);
    for (const TensorId id : node.inputs) {
      if (id >= 0 && graph.tensors[static_cast<std::size_t>(id)].data)
        sum = crc32c(*graph.tensors[static_cast<std::size_t>(id)].data, sum);
    }
  }
  return sum;
}

// Names that come again get their number after them: operators that one of the file's became share its name.
std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  std::map<std::string, int> seen;
  for (const std::string& name : names) {
    const int number = ++seen[name];
    all.push_back(number == 1 ? name : name + "#" + std::to_string(number));
  }
  return all;
}
std::vector<std::string> node_keys(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  return distinct(names);
}
std::vector<std::string> tensor_keys(const Graph& graph) {
  std::vector<std::string> names;
  for (const Tensor& tensor : graph.tensors) names.push_back(tensor.name);
  return distinct(names);
}

// The factors between layers name their operators.
Status check_names(const Graph& graph, const Plan& plan) {
  std::set<std::string> names;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (plan.roles[n] == Role::weighted && !names.insert(graph.nodes[n].name).second) {
      return Status(Code::unsupported)
             << "a calibration table of a model with several layers \"" << graph.nodes[n].name << "\"";
    }
  }
  return {};
}

// The nearest integers to weights with these steps.
std::vector<std::int32_t> nearest(const std::vector<float>& weights, const std::vector<double>& steps,
                                  DType type) {
  std::vector<std::int32_t> integers(weights.size());
  const std::size_t share = weights.size() / steps.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    integers[i] = static_cast<std::int32_t>(
        std::clamp<double>(std::nearbyint(static_cast<double>(weights[i]) / steps[i / share]),
                           kernels::lowest(type), kernels::highest(type)));
  }
  return integers;
}

// `input`: which input of the node has the weights.
Json json_of(const Graph& graph, const Plan& plan, int number, std::size_t input, const Layer& layer) {
  const Node& node = graph.nodes[static_cast<std::size_t>(number)];
  Json json;
  if (plan.scheme == Scheme::pow2)
    json["exponents"] = layer.exponents;
  else
    json["steps"] = layer.steps;
  if (!layer.bias.empty()) json["bias"] = layer.bias;
  std::vector<std::int32_t> offsets =
      nearest(floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[input])]), layer.steps,
              plan.types[static_cast<std::size_t>(number)]);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = layer.integers[i] - offsets[i];
  if (std::any_of(offsets.begin(), offsets.end(), [](std::int32_t offset) { return offset != 0; }))
    json["weights"] = offsets;
  return json;
}

// Unchecked values of a JSON text, with their position for messages.
class Reader {
 public:
  Reader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}
  [[nodiscard]] Status wrong(std::string_view expected) const {
    return Status(Code::invalid_data) << "calibration table: " << place_ << ": expected " << expected;
  }
  [[nodiscard]] bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  [[nodiscard]] Result<Reader> operator[](const char* key) const {
    if (!has(key))
      return Status(Code::invalid_data) << "calibration table: " << place_ << ": no \"" << key << "\"";
    return Reader(json_[key], place_ + "/" + key);
  }
  [[nodiscard]] Result<double> number(double most = kLargest) const {
    if (!json_.is_number() || !(std::abs(json_.get<double>()) <= most)) return wrong("a number");
    return json_.get<double>();
  }
  [[nodiscard]] Result<int> integer(int low, int high) const {
    if (!json_.is_number_integer() || json_ < low || json_ > high)
      return wrong("an integer from " + std::to_string(low) + " to " + std::to_string(high));
    return json_.get<int>();
  }
  [[nodiscard]] Result<std::string> text() const {
    if (!json_.is_string()) return wrong("a text");
    return json_.get<std::string>();
  }
  [[nodiscard]] Result<std::vector<Reader>> list() const {
    if (!json_.is_array()) return wrong("a list");
    std::vector<Reader> all;
    for (std::size_t i = 0; i < json_.size(); ++i)
      all.emplace_back(json_[i], place_ + "/" + std::to_string(i));
    return all;
  }
  [[nodiscard]] Result<std::vector<std::pair<std::string, Reader>>> entries() const {
    if (!json_.is_object()) return wrong("an object");
    std::vector<std::pair<std::string, Reader>> all;
    for (const auto& [key, value] : json_.items()) all.emplace_back(key, Reader(value, place_ + "/" + key));
    return all;
  }
  [[nodiscard]] Result<std::vector<double>> numbers() const {
    RUNNEL_ASSIGN(const std::vector<Reader> all, list());
    std::vector<double> values;
    for (const Reader& entry : all) {
      RUNNEL_ASSIGN(const double value, entry.number());
      values.push_back(value);
    }
    return values;
  }
  template <typename T = int>
  [[nodiscard]] Result<std::vector<T>> integers(int low, int high) const {
    RUNNEL_ASSIGN(const std::vector<Reader> all, list());
    std::vector<T> values;
    for (const Reader& entry : all) {
      RUNNEL_ASSIGN(const int value, entry.integer(low, high));
      values.push_back(value);
    }
    return values;
  }
  [[nodiscard]] Result<std::vector<std::string>> texts() const {
    RUNNEL_ASSIGN(const std::vector<Reader> all, list());
    std::vector<std::string> values;
    for (const Reader& entry : all) {
      RUNNEL_ASSIGN(std::string value, entry.text());
      values.push_back(std::move(value));
    }
    return values;
  }

 private:
  const Json& json_;
  std::string place_;
};

Result<DType> type_of(const Reader& reader) {
  RUNNEL_ASSIGN(const std::string text, reader.text());
  for (const DType type : {DType::int8, DType::int16, DType::float32}) {
    if (text == runnel::name_of(type)) return type;
  }
  return reader.wrong("int8, int16 or float32");
}

}  // namespace

Result<std::string> table_text(const Graph& given, const Quantized& quantized, const Options& options,
                               std::string_view front_end, std::size_t clips) {
  const Graph& real = quantized.real;
  const Plan& plan = quantized.plan;
  RUNNEL_TRY(check_names(real, plan));
  const std::vector<std::string> nodes = node_keys(real), tensors = tensor_keys(real);
  Json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["model"] = checksum_of(given);
  for (const TensorId id : given.inputs)
    json["inputs"][given.tensors[static_cast<std::size_t>(id)].name] =
        given.tensors[static_cast<std::size_t>(id)].shape;
  json["front_end"] = front_end;
  json["clips"] = clips;
  json["target"] = options.target.name;
  json["scheme"] = options.scheme == Scheme::pow2 ? "pow2" : "affine";
  json["methods"] = names_of(quantized.methods);
  json["error"] = quantized.error;
  json["types"] = json["factors"] = json["ranges"] = json["gates"] = json["layers"] = Json::object();
  json["factors"] = Json::array();
  for (std::size_t n = 0; n < real.nodes.size(); ++n)
    json["types"][nodes[n]] = runnel::name_of(plan.types[n]);
  for (const Scaling& scaling : quantized.scalings)
    json["factors"].push_back(
        {{"makers", scaling.makers}, {"readers", scaling.readers}, {"factors", scaling.factors}});
  // Per group as make_plan has them: sums may have brought several together.
  RUNNEL_ASSIGN(const Plan plain, make_plan(real, options));
  const std::vector<DType> tensor_type = tensor_types(real, plan);
  for (std::size_t id = 0; id < plan.ranges.size(); ++id) {
    Range range = plan.range(static_cast<TensorId>(id));
    // A scale that was stated, as a range that gives it.
    if (const auto at = plan.stated.find(plan.groups[id]); at != plan.stated.end())
      range = range_of_exponent(at->second, tensor_type[id] == DType::int16 ? DType::int16 : DType::int8);
    if (plain.groups[id] == static_cast<TensorId>(id) && range.high > range.low)
      json["ranges"][tensors[id]] = {range.low, range.high};
  }
  for (const auto& gate : plan.gate_exponents)
    json["gates"][nodes[static_cast<std::size_t>(gate.first)]] = gate.second;
  for (const auto& layer : plan.layers)
    json["layers"][nodes[static_cast<std::size_t>(layer.first)]] =
        json_of(real, plan, layer.first, 1, *layer.second);
  for (const auto& [place, layer] : plan.matrices)
    json["matrices"][nodes[static_cast<std::size_t>(place.first)]][std::to_string(place.second)] =
        json_of(real, plan, place.first, static_cast<std::size_t>(place.second), layer);
  // One line for each entry, so that changes can be read.
  std::string text = "{\n";
  for (const auto& [key, value] : json.items()) {
    text += text.size() > 2 ? ",\n" : "";
    if (!value.is_structured() || value.empty()) {
      text += Json(key).dump() + ": " + value.dump();
      continue;
    }
    text += Json(key).dump() + ": " + (value.is_object() ? "{" : "[");
    std::string_view separator = "\n ";
    for (const auto& [name, entry] : value.items()) {
      text += std::string(separator) + (value.is_object() ? Json(name).dump() + ": " : "") + entry.dump();
      separator = ",\n ";
    }
    text += value.is_object() ? "\n}" : "\n]";
  }
  return text + "\n}\n";
}

Result<CalibrationTable> CalibrationTable::from_text(std::string_view text) {
  if (text.size() > kMaxBytes)
    return Status(Code::invalid_data)
           << "calibration table: " << text.size() << " bytes, expected " << kMaxBytes << " or fewer";
  if (nests_deeper(text))
    return Status(Code::invalid_data)
           << "calibration table: brackets more than " << limits::kJsonNesting << " deep";
  const Json json = Json::parse(text, nullptr, false);
  const Reader root(json, "/");
  if (json.is_discarded()) return root.wrong("JSON");
  RUNNEL_ASSIGN(const Reader format, root["format"]);
  RUNNEL_ASSIGN(const std::string kind, format.text());
  if (kind != kFormat) return format.wrong(kFormat);
  RUNNEL_ASSIGN(const Reader version, root["version"]);
  RUNNEL_TRY(version.integer(kVersion, kVersion).status());

  CalibrationTable table;
  RUNNEL_ASSIGN(const Reader model, root["model"]);
  RUNNEL_ASSIGN(const double checksum, model.number(4294967295.0));
  if (checksum < 0) return model.wrong("a checksum");
  table.checksum_ = static_cast<std::uint32_t>(checksum);
  RUNNEL_ASSIGN(const Reader inputs, root["inputs"]);
  RUNNEL_ASSIGN(const auto shapes, inputs.entries());
  for (const auto& entry : shapes) {
    RUNNEL_ASSIGN(table.shapes_[entry.first], entry.second.integers<std::int64_t>(1, 1 << 30));
  }
  RUNNEL_ASSIGN(const Reader front_end, root["front_end"]);
  RUNNEL_ASSIGN(table.front_end_, front_end.text());
  RUNNEL_ASSIGN(const Reader target, root["target"]);
  RUNNEL_ASSIGN(const std::string target_name, target.text());
  RUNNEL_ASSIGN(table.options_.target, target_rules(target_name));
  RUNNEL_ASSIGN(const Reader scheme, root["scheme"]);
  RUNNEL_ASSIGN(const std::string scheme_name, scheme.text());
  if (scheme_name != "pow2" && scheme_name != "affine") return scheme.wrong("pow2 or affine");
  table.options_.scheme = scheme_name == "pow2" ? Scheme::pow2 : Scheme::affine;
  RUNNEL_ASSIGN(const Reader methods, root["methods"]);
  RUNNEL_ASSIGN(const std::string method_names, methods.text());
  RUNNEL_ASSIGN(table.methods_, methods_named(method_names));
  RUNNEL_ASSIGN(const Reader error, root["error"]);
  RUNNEL_ASSIGN(table.error_, error.number());
  RUNNEL_ASSIGN(const Reader types, root["types"]);
  RUNNEL_ASSIGN(const auto type_entries, types.entries());
  for (const auto& entry : type_entries) {
    RUNNEL_ASSIGN(table.types_[entry.first], type_of(entry.second));
  }
  RUNNEL_ASSIGN(const Reader factors, root["factors"]);
  RUNNEL_ASSIGN(const auto factor_entries, factors.list());
  for (const Reader& entry : factor_entries) {
    Scaling scaling;
    RUNNEL_ASSIGN(const Reader makers, entry["makers"]);
    RUNNEL_ASSIGN(scaling.makers, makers.texts());
    RUNNEL_ASSIGN(const Reader readers, entry["readers"]);
    RUNNEL_ASSIGN(scaling.readers, readers.texts());
    RUNNEL_ASSIGN(const Reader values, entry["factors"]);
    RUNNEL_ASSIGN(scaling.factors, values.numbers());
    table.scalings_.push_back(std::move(scaling));
  }
  RUNNEL_ASSIGN(const Reader ranges, root["ranges"]);
  RUNNEL_ASSIGN(const auto range_entries, ranges.entries());
  for (const auto& entry : range_entries) {
    RUNNEL_ASSIGN(const std::vector<double> ends, entry.second.numbers());
    if (ends.size() != 2 || !(ends[0] <= 0 && ends[1] >= 0))
      return entry.second.wrong("a lower end of 0 or less and an upper one of 0 or more");
    table.ranges_[entry.first] = {ends[0], ends[1]};
  }
  RUNNEL_ASSIGN(const Reader gates, root["gates"]);
  RUNNEL_ASSIGN(const auto gate_entries, gates.entries());
  for (const auto& entry : gate_entries) {
    RUNNEL_ASSIGN(table.gates_[entry.first], entry.second.integer(-30, 0));
  }
  const auto read_layer = [&](const Reader& reader) -> Result<LayerEntry> {
    LayerEntry layer;
    if (table.options_.scheme == Scheme::pow2) {
      RUNNEL_ASSIGN(const Reader exponents, reader["exponents"]);
      RUNNEL_ASSIGN(layer.exponents, exponents.integers(kLowestExponent, kHighestExponent));
      for (const int exponent : layer.exponents) layer.steps.push_back(std::ldexp(1.0, exponent));
    } else {
      RUNNEL_ASSIGN(const Reader steps, reader["steps"]);
      RUNNEL_ASSIGN(layer.steps, steps.numbers());
      if (std::any_of(layer.steps.begin(), layer.steps.end(), [](double step) { return !(step > 1e-30); }))
        return steps.wrong("positive steps");
    }
    if (reader.has("bias")) {
      RUNNEL_ASSIGN(const Reader bias, reader["bias"]);
      RUNNEL_ASSIGN(layer.bias, bias.numbers());
    }
    if (reader.has("weights")) {
      RUNNEL_ASSIGN(const Reader weights, reader["weights"]);
      RUNNEL_ASSIGN(layer.offsets, weights.integers<std::int32_t>(-65535, 65535));
    }
    return layer;
  };
  RUNNEL_ASSIGN(const Reader layers, root["layers"]);
  RUNNEL_ASSIGN(const auto layer_entries, layers.entries());
  for (const auto& entry : layer_entries) {
    RUNNEL_ASSIGN(table.layers_[entry.first], read_layer(entry.second));
  }
  // Tables of models without recurrent operators have none.
  if (!root.has("matrices")) return table;
  RUNNEL_ASSIGN(const Reader matrices, root["matrices"]);
  RUNNEL_ASSIGN(const auto matrix_entries, matrices.entries());
  for (const auto& node : matrix_entries) {
    RUNNEL_ASSIGN(const auto places, node.second.entries());
    for (const auto& entry : places) {
      if (entry.first != "1" && entry.first != "2") return entry.second.wrong("the matrices 1 and 2");
      RUNNEL_ASSIGN(table.matrices_[node.first][entry.first[0] - '0'], read_layer(entry.second));
    }
  }
  return table;
}

Status CalibrationTable::decide_layer(const std::string& name, const LayerEntry& entry, Role role,
                                      std::size_t input, const Graph& graph, std::size_t number, Plan& plan) {
  if (plan.roles[number] != role || plan.types[number] == DType::float32)
    return Status(Code::mismatch) << "calibration table: \"" << name << "\" is no quantized layer";
  const Node& node = graph.nodes[number];
  const Tensor& weights = graph.tensors[static_cast<std::size_t>(node.inputs[input])];
  const std::vector<float> values = floats_of(weights);
  // A matrix of a recurrent operator has one scale and no bias.
  const std::size_t channels = role == Role::weighted ? static_cast<std::size_t>(weights.shape[0]) : 1;
  const auto fits = [&](std::size_t found, std::size_t one, std::size_t other) {
    return found == one || found == other;
  };
  if (!fits(entry.steps.size(), 1, channels) ||
      !fits(entry.bias.size(), 0, role == Role::weighted ? channels : 0) ||
      !fits(entry.offsets.size(), 0, values.size())) {
    return Status(Code::mismatch) << "calibration table: layer \"" << name << "\" has " << channels
                                  << " channels and " << values.size() << " weights, found "
                                  << entry.steps.size() << " scales, " << entry.bias.size() << " biases and "
                                  << entry.offsets.size() << " weights";
  }
  const DType type = plan.types[number];
  Layer layer{entry.steps, entry.exponents, nearest(values, entry.steps, type), entry.bias};
  for (std::size_t i = 0; i < entry.offsets.size(); ++i) {
    layer.integers[i] += entry.offsets[i];
    if (layer.integers[i] < kernels::lowest(type) || layer.integers[i] > kernels::highest(type)) {
      return Status(Code::mismatch) << "calibration table: weight " << i << " of layer \"" << name
                                    << "\" becomes " << layer.integers[i] << ", which is no "
                                    << runnel::name_of(type);
    }
  }
  if (role == Role::weighted)
    plan.layers[static_cast<int>(number)] = std::make_shared<const Layer>(std::move(layer));
  else
    plan.matrices[{static_cast<int>(number), static_cast<int>(input)}] = std::move(layer);
  return {};
}

Result<Quantized> CalibrationTable::quantize(const Graph& graph) const {
  if (checksum_of(graph) != checksum_)
    return Status(Code::mismatch) << "calibration table: made of another model (checksum " << checksum_
                                  << ", expected " << checksum_of(graph) << ")";
  Quantized made;
  made.real = graph;
  made.methods = methods_;
  made.error = error_;
  made.scalings = scalings_;
  if (methods_.split) split_layers(made.real, options_);
  for (const Scaling& scaling : scalings_) {
    if (Status status = apply(scaling, made.real); !status.ok()) return status.at("calibration table");
  }
  RUNNEL_ASSIGN(made.plan, make_plan(made.real, options_));
  Plan& plan = made.plan;
  const std::vector<std::string> nodes = node_keys(made.real), tensors = tensor_keys(made.real);
  std::map<std::string, std::size_t> numbers;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    numbers[nodes[n]] = n;
    const auto type = types_.find(nodes[n]);
    if (type == types_.end() || (plan.roles[n] == Role::real && type->second != DType::float32)) {
      return Status(Code::mismatch) << "calibration table: no type that operator \"" << nodes[n]
                                    << "\" can have";
    }
    plan.types[n] = type->second;
  }
  for (std::size_t id = 0; id < tensors.size(); ++id) {
    const auto range = ranges_.find(tensors[id]);
    if (range != ranges_.end() && plan.groups[id] == static_cast<TensorId>(id))
      plan.ranges[id] = range->second;
  }
  const auto number_of = [&](const std::string& name) -> Result<std::size_t> {
    const auto found = numbers.find(name);
    if (found == numbers.end())
      return Status(Code::mismatch) << "calibration table: there is no operator \"" << name << "\"";
    return found->second;
  };
  for (const auto& gate : gates_) {
    RUNNEL_ASSIGN(const std::size_t number, number_of(gate.first));
    plan.gate_exponents[static_cast<int>(number)] = gate.second;
  }
  for (const auto& layer : layers_) {
    RUNNEL_ASSIGN(const std::size_t number, number_of(layer.first));
    RUNNEL_TRY(decide_layer(layer.first, layer.second, Role::weighted, 1, made.real, number, plan));
  }
  for (const auto& [name, inputs] : matrices_) {
    RUNNEL_ASSIGN(const std::size_t number, number_of(name));
    for (const auto& entry : inputs)
      RUNNEL_TRY(decide_layer(name, entry.second, Role::recurrent, static_cast<std::size_t>(entry.first),
                              made.real, number, plan));
  }
  RUNNEL_ASSIGN(made.graph, emit_integer_graph(made.real, plan));
  return made;
}

Clip noise_clip(const Quantized& quantized, std::uint32_t seed) {
  Clip clip;
  Random random(seed);
  for (const TensorId id : quantized.real.inputs) {
    const Range range = quantized.plan.range(id);
    std::size_t count = 1;
    for (const std::int32_t dim : quantized.real.tensors[static_cast<std::size_t>(id)].shape)
      count *= static_cast<std::size_t>(dim);
    std::vector<float> values(count);
    for (float& value : values)
      value = static_cast<float>(range.low + (range.high - range.low) * random.uniform());
    clip.push_back(std::move(values));
  }
  return clip;
}

}  // namespace runnel::compiler::quantizer
