#include "services/embed/partition/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/host/signature.h"
#include "base/host/small_file.h"
#include "base/sha256.h"
#include "embed/partition/image_header.h"
#include "embed/partition/profile.h"
#include "services/embed/rom_files.h"

namespace runnel::embedding {
namespace {

// What preparing a partition takes besides the node, on machines with pointers of 8 bytes: the program with
// its model, alignment, and of each label a pointer and a view.
std::size_t partition_bytes(std::size_t labels) { return sizeof(runnel_program) + 768 + 24 * labels; }

ProfileId half_digest(const std::string& text) {
  const Sha256Digest digest = sha256(std::as_bytes(std::span(text)));
  ProfileId out;
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

std::string node_text(const compiler::EmbeddedNode& node) {
  std::string out =
      fmt::format("{}\n{}\n{} {}\n", node.type, node.class_name, node.input_kinds, node.output_kinds);
  for (const compiler::EmbeddedNode::Member& member : node.members)
    out += member.name + " = " + member.value + "\n";
  return out + node.definitions + "\n";
}

std::string node_id(const compiler::EmbeddedNode& node) { return crypto::hex(half_digest(node_text(node))); }

// Of everything that the program and the images of its models must agree on.
ProfileId id_of(const compiler::EmbeddedProgram& p) {
  std::string text =
      fmt::format("image {} program {} profile {}\n{} {}\n{} {} {} {} {} {}\n{} {} {} {}\n",
                  embed::kImageFormat, embed::kProgramVersion, embed::kProfileVersion, p.name, p.target,
                  p.sample_type, p.sample_rate, p.channels, p.hop, p.events, p.event_room, p.features_stage,
                  p.output_stage, p.memory_bytes, p.fast_bytes);
  for (const std::string& one : p.operators) text += one + "\n";
  for (const std::string& label : p.labels) text += compiler::quoted(label) + "\n";
  for (const compiler::EmbeddedNode& node : p.nodes) text += node_text(node);
  return half_digest(text);
}

// kAveragePoolTflite: average pool tflite.
std::string readable(const std::string& symbol) {
  std::string out;
  for (const char letter : symbol.substr(symbol.starts_with('k') ? 1 : 0)) {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0 && !out.empty()) out += ' ';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return out;
}

Status differs(const std::string& what, const auto& found, const auto& expected) {
  return Status(Code::mismatch) << what << ": " << found << ", the profile has " << expected;
}

Result<Profile> parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("type", "") != "profile")
    return Status(Code::invalid_data,
                  "no profile, expected a file NAME.profile.json of runnel embed --model-partition");
  Profile out;
  out.program_version = json.at("program_version").get<int>();
  out.profile_version = json.at("profile_version").get<int>();
  const auto id = json.at("id").get<std::string>();
  if (id.size() != 2 * out.id.size() || id.find_first_not_of("0123456789abcdef") != std::string::npos)
    return Status(Code::invalid_data) << "id: expected " << 2 * out.id.size() << " hexadecimal digits";
  for (std::size_t i = 0; i < out.id.size(); ++i)
    out.id[i] = static_cast<std::uint8_t>(std::stoi(id.substr(2 * i, 2), nullptr, 16));
  out.name = json.at("name").get<std::string>();
  out.target = json.at("target").get<std::string>();
  out.samples = json.at("samples").get<std::string>();
  out.front_end = json.at("front_end").get<std::string>();
  out.decision = json.at("decision").get<std::string>();
  out.sample_rate = json.at("sample_rate").get<int>();
  out.channels = json.at("channels").get<int>();
  out.events = json.at("events").get<int>();
  out.hop = json.at("hop").get<std::int64_t>();
  out.memory_bytes = json.at("memory_bytes").get<std::size_t>();
  out.fast_bytes = json.at("fast_bytes").get<std::size_t>();
  // Absent in profiles of earlier versions, which had neither.
  out.counters = json.value("counters", false);
  out.cores = json.value("cores", 1);
  out.operators = json.at("operators").get<std::vector<std::string>>();
  for (const auto& node : json.at("nodes"))
    out.nodes.push_back({node.at("type").get<std::string>(), node.at("id").get<std::string>()});
  return out;
}

}  // namespace

Result<PartitionModel> plan_partition(const EmbedRequest& request, const compiler::LoadOptions& load) {
  if (request.step || request.self_test)
    return Status(Code::invalid_argument)
           << "--model-partition with " << (request.step ? "--step" : "--self-test")
           << ": a model in a partition is a file, without test vectors; expected one of them";
  if (request.memory > 0)
    return Status(
        Code::invalid_argument,
        "--model-partition with --memory: the memory of a profile is a bound for all of its models");
  PartitionModel out;
  RUNNEL_ASSIGN(out.plan, plan_program(request, load));
  compiler::EmbeddedProgram& program = out.plan.program;
  if (!program.npu.empty())
    return Status(Code::unsupported) << request.model << ": parts for the NPU " << program.npu
                                     << "; a model in a partition runs on the CPU";
  if (!program.models.empty())
    return Status(Code::unsupported) << request.model << ": " << program.models.size()
                                     << " further models of its decoder; a partition has one model";
  const Model& model = out.plan.model->model();
  if (program.events && program.labels.empty() && out.plan.search() == nullptr)
    program.labels = numbers_of_classes(model);
  const std::size_t labels = program.labels.size();
  if (out.plan.search() == nullptr) {
    // They are the model's.
    RUNNEL_ASSIGN(program.model, rom_model(model, {.names = out.plan.keep_names, .labels = &program.labels}));
    program.labels.clear();
  }
  extend_infer(program);
  out.file = std::filesystem::path(request.model).stem().string();
  out.memory_bytes = (out.plan.dry.memory_bytes + partition_bytes(labels) + RUNNEL_ALIGNMENT - 1) /
                     RUNNEL_ALIGNMENT * RUNNEL_ALIGNMENT;
  return out;
}

Result<compiler::EmbeddedProgram> plan_profile(const EmbedRequest& request, const compiler::LoadOptions& load,
                                               std::vector<PartitionModel>& models) {
  RUNNEL_ASSIGN(PartitionModel first, plan_partition(request, load));
  models.push_back(std::move(first));
  compiler::EmbeddedProgram program = models[0].plan.program;
  program.model.clear();
  program.in_partition = true;
  program.memory_bytes = models[0].memory_bytes;
  std::set<std::string> names = {models[0].file},
                        operators(program.operators.begin(), program.operators.end());
  EmbedRequest next = request;
  next.name = program.name;
  next.hop = static_cast<int>(program.hop);
  next.samples = program.sample_type;
  next.sample_rate = static_cast<int>(program.sample_rate);
  for (const std::string& model : request.profile) {
    next.model = model;
    RUNNEL_ASSIGN(PartitionModel one, plan_partition(next, load));
    if (!names.insert(one.file).second)
      return Status(Code::invalid_argument) << "--profile " << model << ": the image " << one.file
                                            << ".rnli is another model's, expected models of different names";
    // Its own operators and memory are added to the profile.
    Profile so_far = profile_of(program, request);
    so_far.operators = one.plan.program.operators;
    so_far.memory_bytes = one.memory_bytes;
    RUNNEL_TRY(check_fits(one, so_far).at(model));
    operators.insert(one.plan.program.operators.begin(), one.plan.program.operators.end());
    program.memory_bytes = std::max(program.memory_bytes, one.memory_bytes);
    models.push_back(std::move(one));
  }
  program.operators.assign(operators.begin(), operators.end());
  return program;
}

Profile profile_of(const compiler::EmbeddedProgram& program, const EmbedRequest& request) {
  Profile out;
  out.id = id_of(program);
  out.program_version = embed::kProgramVersion;
  out.profile_version = embed::kProfileVersion;
  out.name = program.name;
  out.target = program.target;
  out.samples = program.sample_type;
  out.front_end = request.front_end;
  out.decision = request.decision;
  out.sample_rate = static_cast<int>(program.sample_rate);
  out.channels = program.channels;
  out.events = program.event_room;
  out.hop = program.hop;
  out.memory_bytes = program.memory_bytes;
  out.fast_bytes = program.fast_bytes;
  out.counters = program.counters;
  out.cores = program.cores;
  out.operators = program.operators;
  for (const compiler::EmbeddedNode& node : program.nodes) out.nodes.push_back({node.type, node_id(node)});
  return out;
}

std::string text_of(const Profile& profile) {
  nlohmann::ordered_json json = {{"type", "profile"},
                                 {"name", profile.name},
                                 {"id", crypto::hex(profile.id)},
                                 {"program_version", profile.program_version},
                                 {"profile_version", profile.profile_version},
                                 {"target", profile.target},
                                 {"samples", profile.samples},
                                 {"sample_rate", profile.sample_rate},
                                 {"channels", profile.channels},
                                 {"hop", profile.hop},
                                 {"events", profile.events},
                                 {"memory_bytes", profile.memory_bytes},
                                 {"fast_bytes", profile.fast_bytes},
                                 {"counters", profile.counters},
                                 {"cores", profile.cores},
                                 {"front_end", profile.front_end},
                                 {"decision", profile.decision},
                                 {"operators", profile.operators},
                                 {"nodes", nlohmann::ordered_json::array()}};
  for (const Profile::Node& node : profile.nodes)
    json["nodes"].push_back({{"type", node.type}, {"id", node.id}});
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Profile> read_profile(const std::string& path) {
  RUNNEL_ASSIGN(const std::string text, read_small_file(path));
  Result<Profile> out = Status(Code::invalid_data, "a damaged profile");
  try {
    out = parse(text);
  } catch (const std::exception& error) {
    return Status(Code::invalid_data) << path << ": " << error.what();
  }
  if (!out.ok()) return out.status().at(path);
  if (out->program_version != static_cast<int>(embed::kProgramVersion) ||
      out->profile_version != static_cast<int>(embed::kProfileVersion))
    return Status(Code::unsupported) << path << ": profile for programs of version " << out->program_version
                                     << ", this runnel makes version " << embed::kProgramVersion;
  return out;
}

Status check_fits(const PartitionModel& model, const Profile& profile) {
  const compiler::EmbeddedProgram& program = model.plan.program;
  std::string missing;
  for (const std::string& one : program.operators) {
    if (std::find(profile.operators.begin(), profile.operators.end(), one) == profile.operators.end())
      missing += (missing.empty() ? "" : ", ") + readable(one);
  }
  if (!missing.empty())
    return Status(Code::unsupported) << "operators that the profile " << profile.name
                                     << " has not: " << missing;
  if (model.memory_bytes > profile.memory_bytes)
    return Status(Code::out_of_memory) << model.memory_bytes << " bytes of memory, the profile "
                                       << profile.name << " has " << profile.memory_bytes;
  if (program.sample_type != profile.samples)
    return differs("type of the samples", program.sample_type, profile.samples);
  if (program.sample_rate != profile.sample_rate)
    return differs("sample rate", program.sample_rate, profile.sample_rate);
  if (program.hop != profile.hop) return differs("hop", program.hop, profile.hop);
  if (program.nodes.size() != profile.nodes.size())
    return differs("nodes", program.nodes.size(), profile.nodes.size());
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].type != profile.nodes[i].type)
      return differs("node " + std::to_string(i), program.nodes[i].type, profile.nodes[i].type);
    if (node_id(program.nodes[i]) != profile.nodes[i].id)
      return Status(Code::mismatch) << "node " << i << " (" << program.nodes[i].type
                                    << ") has other settings than that of the profile " << profile.name;
  }
  return {};
}

}  // namespace runnel::embedding
