#include "services/describe/model_json.h"

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

namespace runnel::describe {
namespace {

const char* tier_text(Tier tier) { return tier == Tier::fast ? "fast" : "slow"; }

nlohmann::ordered_json memory_json(const MemoryDescription& memory) {
  const Prepared::ConstantBytes& constants = memory.constants;
  return {{"alignment", memory.alignment},
          {"constants",
           {{"in_place", constants.in_place},
            {"packed", constants.packed},
            {"copied_fast", constants.copied_fast},
            {"copied_slow", constants.copied_slow}}},
          {"operator_bytes", memory.operators},
          {"prepared_bytes", memory.prepared},
          {"arena",
           {{"fast", memory.arena_fast},
            {"slow", memory.arena_slow},
            {"lower_bound", memory.arena_bound},
            {"ratio", memory.arena_ratio()}}},
          {"scratch", {{"bytes", memory.scratch}, {"tier", tier_text(memory.scratch_tier)}}},
          {"state", {{"bytes", memory.state}, {"tier", tier_text(memory.state_tier)}}}};
}

}  // namespace

double frame_milliseconds(const Model& model) {
  if (model.pipeline() == nullptr || model.pipeline()->front_end() == nullptr) return 0;
  const std::string text = model.pipeline()->front_end()->str();
  const std::size_t at = text.find("frame_shift=");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + std::strlen("frame_shift="), nullptr);
}

double frame_macs(const ModelDescription& about, const ModelUsage& usage) {
  return about.streamed || !usage.stepped() || usage.advance < 1
             ? about.macs_per_frame
             : static_cast<double>(about.macs) / static_cast<double>(usage.advance);
}

std::string model_json(const ModelDescription& about, const Model& model, double frame_ms) {
  nlohmann::ordered_json out = {{"type", "model"}, {"name", about.name}, {"streamed", about.streamed}};
  const auto names = [&](const std::vector<int>& indices) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const int index : indices)
      list.push_back(index < 0 ? nlohmann::ordered_json()
                               : nlohmann::ordered_json(about.tensors[static_cast<std::size_t>(index)].name));
    return list;
  };
  out["inputs"] = names(about.inputs);
  out["outputs"] = names(about.outputs);
  if (const auto usage = usage_of(model); usage.ok()) {
    out["usage"] = {{"kind", runnel::name_of(usage->kind)}};
    if (usage->stepped()) {
      out["usage"].update({{"frames", usage->frames},
                           {"advance", usage->advance},
                           {"context", usage->context},
                           {"frame_values", usage->frame_values},
                           {"states", usage->pairs == nullptr ? 0 : usage->pairs->size()}});
    }
  }
  out["block"] = about.block;
  out["block_multiple"] = about.block_multiple;
  out["delay_frames"] = about.delay;
  out["lookahead_frames"] = about.lookahead;
  out["cold_start_frames"] = about.cold_start;
  if (frame_ms > 0) {
    out["lookahead_ms"] = about.lookahead * frame_ms;
    out["cold_start_ms"] = static_cast<double>(about.cold_start) * frame_ms;
  }
  out["receptive_field_frames"] = about.receptive_field;
  out["macs"] = about.macs;
  const auto usage = usage_of(model);
  out["macs_per_frame"] = usage.ok() ? frame_macs(about, *usage) : about.macs_per_frame;
  out["arena_bytes"] = about.memory.arena();
  out["scratch_bytes"] = about.memory.scratch;
  out["state_bytes"] = about.memory.state;
  out["prepared_bytes"] = about.memory.prepared;
  out["memory"] = memory_json(about.memory);
  out["file_bytes"] = about.file_bytes;
  out["weight_bytes"] = about.weight_bytes;
  for (const OperatorDescription& op : about.operators) {
    out["operators"].push_back({{"type", op.type},
                                {"name", op.name},
                                {"inputs", names(op.inputs)},
                                {"outputs", names(op.outputs)},
                                {"macs", op.macs},
                                {"macs_per_frame", op.macs_per_frame},
                                {"context", op.context},
                                {"kernel", op.kernel},
                                {"reference", op.reference}});
  }
  for (const DelegateDescription& delegate : about.delegates) {
    nlohmann::ordered_json json = {{"op", delegate.op},
                                   {"kind", delegate.kind},
                                   {"parts", nlohmann::ordered_json::array()},
                                   {"attributes", nlohmann::ordered_json::object()},
                                   {"inputs", names(delegate.inputs)},
                                   {"outputs", names(delegate.outputs)}};
    for (const auto& [name, bytes] : delegate.parts)
      json["parts"].push_back({{"name", name}, {"bytes", bytes}});
    for (const auto& [name, value] : delegate.attributes) json["attributes"][name] = value;
    out["delegates"].push_back(json);
  }
  for (const TensorDescription& tensor : about.tensors) {
    out["tensors"].push_back({{"name", tensor.name},
                              {"dtype", name_of(tensor.dtype)},
                              {"shape", std::vector<int>(tensor.shape.dims.begin(),
                                                         tensor.shape.dims.begin() + tensor.shape.rank)},
                              {"exponents", tensor.exponents},
                              {"constant", tensor.constant},
                              {"bytes", tensor.bytes},
                              {"time_axis", tensor.time_axis},
                              {"rate", {tensor.up, tensor.down}},
                              {"delay", tensor.delay},
                              {"history", tensor.history},
                              {"state_bytes", tensor.state_bytes}});
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace runnel::describe
