#include "compiler/espdl/pipeline_metadata.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace runnel::compiler {
namespace {

constexpr std::string_view kPrefix = "runnel.";
constexpr std::pair<std::string_view, std::string PipelineSettings::*> kTexts[] = {
    {"front_end", &PipelineSettings::front_end}, {"decision", &PipelineSettings::decision}};
constexpr std::pair<std::string_view, int PipelineSettings::*> kNumbers[] = {
    {"sample_rate", &PipelineSettings::sample_rate},
    {"window", &PipelineSettings::window},
    {"hop", &PipelineSettings::hop}};
constexpr std::string_view kLabels = "labels";

// True when the entry was one of ours.
Result<bool> take(std::string_view name, const std::string& value, PipelineSettings& settings) {
  for (const auto& [key, field] : kTexts) {
    if (name == key) settings.*field = value;
    if (name == key) return true;
  }
  for (const auto& [key, field] : kNumbers) {
    if (name != key) continue;
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < 0) {
      return Status(Code::invalid_data)
             << "metadata entry \"runnel." << name << "\" is \"" << value << "\", expected a number";
    }
    settings.*field = number;
    return true;
  }
  if (name != kLabels) return false;
  settings.labels.clear();
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find('\n', at), value.size());
    settings.labels.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return true;
}

}  // namespace

MetadataEntries pipeline_entries(const PipelineSettings& settings) {
  MetadataEntries entries;
  for (const auto& [key, field] : kTexts) {
    if (!(settings.*field).empty())
      entries.emplace_back(std::string(kPrefix) + std::string(key), settings.*field);
  }
  for (const auto& [key, field] : kNumbers) {
    if (settings.*field > 0)
      entries.emplace_back(std::string(kPrefix) + std::string(key), std::to_string(settings.*field));
  }
  if (settings.labels.empty()) return entries;
  std::string lines;
  for (const std::string& label : settings.labels) lines += label + "\n";
  entries.emplace_back(std::string(kPrefix) + std::string(kLabels), std::move(lines));
  return entries;
}

Status take_pipeline_entries(MetadataEntries& entries, PipelineSettings& settings) {
  MetadataEntries rest;
  for (auto& entry : entries) {
    bool ours = false;
    if (entry.first.starts_with(kPrefix)) {
      RUNNEL_ASSIGN(ours, take(std::string_view(entry.first).substr(kPrefix.size()), entry.second, settings));
    }
    if (!ours) rest.push_back(std::move(entry));
  }
  entries = std::move(rest);
  return {};
}

}  // namespace runnel::compiler
