#include "pipeline/host/statistics/statistics_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "pipeline/host/statistics/kaldi_statistics.h"

namespace runnel::pipeline {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBytes = limits::kStatisticsBytes;

bool is_statistics(const json& object) {
  return object.is_object() && object.contains("mean") && object.contains("std");
}

Result<std::vector<double>> numbers_of(const json& object, const char* key) {
  const json& list = object[key];
  if (!list.is_array() || list.empty())
    return Status(Code::invalid_data) << key << ": expected a list of numbers";
  std::vector<double> numbers;
  for (const json& one : list) {
    if (!one.is_number())
      return Status(Code::invalid_data) << key << ", entry " << numbers.size() << ": expected a number";
    numbers.push_back(one.get<double>());
  }
  return numbers;
}

Result<TrainingStatistics> statistics_of(const json& object) {
  TrainingStatistics out;
  RUNNEL_ASSIGN(out.mean, numbers_of(object, "mean"));
  RUNNEL_ASSIGN(out.deviation, numbers_of(object, "std"));
  if (out.mean.size() != out.deviation.size()) {
    return Status(Code::invalid_data)
           << out.deviation.size() << " numbers in std, expected " << out.mean.size() << " as in mean";
  }
  for (std::size_t i = 0; i < out.mean.size(); ++i) {
    if (!(out.deviation[i] > 0))
      return Status(Code::invalid_data) << "std, entry " << i << ": expected a number above 0";
  }
  return out;
}

Result<TrainingStatistics> read_json_statistics(std::string_view bytes, std::string_view section) {
  const json root = json::parse(bytes, nullptr, false);
  if (!root.is_object()) return Status(Code::invalid_data, "neither a JSON object nor a matrix of Kaldi");
  if (section.empty() && is_statistics(root)) return statistics_of(root);
  std::string known;
  const json* found = nullptr;
  std::size_t count = 0;
  for (const auto& [name, object] : root.items()) {
    if (!is_statistics(object)) continue;
    ++count;
    if (section.empty() || name == section) found = &object;
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + name;
  }
  if (count == 0) return Status(Code::invalid_data, "no object with mean and std in it");
  if (found == nullptr)
    return Status(Code::not_found) << "no section '" << section << "'; there are: " << known;
  if (section.empty() && count > 1)
    return Status(Code::invalid_argument) << "several sections, say which with section=: " << known;
  return statistics_of(*found);
}

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<float>(value)).ptr;
    text += (text.empty() ? "" : ",") + std::string(digits, end);
  }
  return text;
}

const ParameterText* find(const NodeText& node, std::string_view key) {
  const auto found = std::find_if(node.parameters.begin(), node.parameters.end(),
                                  [&](const ParameterText& one) { return one.key == key; });
  return found == node.parameters.end() ? nullptr : &*found;
}

Status replace(NodeText& node) {
  const ParameterText file = *find(node, "file");
  for (const char* other : {"mean", "deviation"}) {
    if (find(node, other) != nullptr)
      return Status(Code::invalid_argument) << "file= and " << other << "=: expected one of them";
  }
  if (const ParameterText* mode = find(node, "mode"); mode != nullptr && mode->value != "fixed") {
    return Status(Code::invalid_argument) << "file= and mode=" << mode->value << ": expected mode=fixed";
  }
  const ParameterText *section = find(node, "section"), *variance = find(node, "variance");
  RUNNEL_ASSIGN(const TrainingStatistics statistics,
                read_statistics_file(
                    file.value, section == nullptr ? std::string_view() : std::string_view(section->value)));
  const bool mean_only = variance != nullptr && (variance->value == "false" || variance->value == "0");
  std::erase_if(node.parameters,
                [](const ParameterText& one) { return one.key == "file" || one.key == "section"; });
  node.parameters.push_back({"mean", list_of(statistics.mean), file.position});
  if (!mean_only) node.parameters.push_back({"deviation", list_of(statistics.deviation), file.position});
  return {};
}

}  // namespace

Result<TrainingStatistics> read_statistics(std::string_view bytes, std::string_view section) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && bytes[first] == '{';
  RUNNEL_ASSIGN(TrainingStatistics out,
                is_json ? read_json_statistics(bytes, section) : read_kaldi_statistics(bytes, section));
  // What the node computes with.
  for (std::size_t i = 0; i < out.mean.size(); ++i) {
    const bool fits = std::isfinite(static_cast<float>(out.mean[i])) &&
                      static_cast<float>(out.deviation[i]) > 0 &&
                      std::isfinite(static_cast<float>(out.deviation[i]));
    if (!fits)
      return Status(Code::invalid_data)
             << "the statistics of dimension " << i << " are beyond single precision";
  }
  return out;
}

Result<TrainingStatistics> read_statistics_file(const std::string& path, std::string_view section) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status(Code::not_found) << path << ": cannot be read";
  std::string bytes(kMaxBytes + 1, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.bad()) return Status(Code::io_error) << path << ": cannot be read";
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  if (bytes.size() > kMaxBytes)
    return Status(Code::invalid_data)
           << path << ": more than " << kMaxBytes << " bytes, expected a file of statistics";
  Result<TrainingStatistics> out = read_statistics(bytes, section);
  if (!out.ok()) return out.status().at(path);
  return out;
}

Status replace_statistics_files(GraphText& graph, std::string_view text) {
  for (NodeText& node : graph.nodes) {
    const ParameterText* const file = node.type == "cmvn" ? find(node, "file") : nullptr;
    if (file == nullptr) continue;
    const std::size_t position = file->position;
    if (const Status status = replace(node); !status.ok())
      return status.at("cmvn").at(describe_position(text, position));
  }
  return {};
}

}  // namespace runnel::pipeline
