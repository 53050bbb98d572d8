#include "services/embed/embed_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "base/host/output_file.h"
#include "compiler/embed/sources.h"
#include "embed/runnel.h"
#include "inference/model/model_sum.h"
#include "services/embed/build_system.h"
#include "services/embed/compiled_node.h"
#include "services/embed/node_source.h"
#include "services/embed/partition/image.h"
#include "services/embed/partition/profile.h"
#include "services/embed/program_plan.h"
#include "services/embed/rom_files.h"

namespace runnel::embedding {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + RUNNEL_ALIGNMENT - 1) / RUNNEL_ALIGNMENT * RUNNEL_ALIGNMENT;
}

Status write_folder(const std::string& folder, const std::vector<compiler::EmbeddedFile>& files) {
  for (const compiler::EmbeddedFile& file : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / file.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return Status(Code::io_error) << path.parent_path().string() << ": " << error.message();
    RUNNEL_TRY(write_file(path, std::as_bytes(std::span(file.text))));
  }
  return {};
}

// What the folder is.
std::string library_of(const EmbedRequest& request, BuildSystem system, const std::string& name) {
  return system == BuildSystem::cmake
             ? fmt::format("{}/CMakeLists.txt makes the library {}", request.output, name)
             : fmt::format("{} is {}, {}", request.output, kind_of(system), name);
}

void say_done(const EmbedRequest& request, BuildSystem system, const EmbedOutcome& made) {
  const std::string library = library_of(request, system, made.name);
  request.say(fmt::format("{}: {} operators of {} kinds, model {} bytes, hop {} samples of {} Hz; {}",
                          request.model, made.operators, made.kinds.size(), made.model_bytes, made.hop,
                          made.sample_rate, library));
  if (!made.npu.empty())
    request.say(fmt::format(
        "parts run on {}: runnel_npu_add() in embed/npu/runnel_npu.h gives it to the program", made.npu));
}

// The program with its model.
Status finish_program(const EmbedRequest& request, ProgramPlan& plan) {
  compiler::EmbeddedProgram& program = plan.program;
  const Model& model = plan.model->model();
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (!plan.dry.decisions[i].empty()) decision_in_rom(plan.dry.decisions[i], i, program.nodes[i]);
  }
  if (request.step) {
    RUNNEL_ASSIGN(program.operators, operators_of(nullptr, plan.decoder));
    if (const Status status = compile_node(model, plan.chain, program.fast_bytes, program, plan.dry);
        !status.ok())
      return status.at(request.model);
  }
  program.model_sum = model_sum(model);
  extend_infer(program);
  if (program.events && program.labels.empty() && plan.search() == nullptr)
    program.labels = numbers_of_classes(model);
  program.measured = request.memory > 0;
  program.memory_bytes =
      aligned(request.memory > 0 ? static_cast<std::size_t>(request.memory) : plan.dry.memory_bytes);
  return {};
}

EmbedOutcome outcome_of(const compiler::EmbeddedProgram& program, const Model& model) {
  EmbedOutcome made;
  made.name = program.name;
  made.model_bytes = program.model.size();
  made.operators = model.operator_count();
  made.sample_rate = static_cast<int>(program.sample_rate);
  made.channels = program.channels;
  made.hop = program.hop;
  made.samples = program.sample_type;
  made.memory_bytes = program.memory_bytes;
  made.fast_bytes = program.fast_bytes;
  made.npu = program.npu;
  return made;
}

// A profile, the program of it, and an image of each model.
Result<EmbedOutcome> embed_partition(const EmbedRequest& request, BuildSystem system,
                                     const compiler::LoadOptions& load) {
  std::vector<PartitionModel> models;
  RUNNEL_ASSIGN(compiler::EmbeddedProgram program, plan_profile(request, load, models));
  Profile profile = profile_of(program, request);
  program.profile_id = profile.id;
  RUNNEL_ASSIGN(const std::optional<crypto::SigningKey> key, signing_key(request.key));
  // Everything that can fail comes before the first file.
  std::vector<std::pair<std::string, std::vector<std::byte>>> images;
  for (PartitionModel& one : models) {
    RUNNEL_ASSIGN(auto image, image_of(one, profile.id, request.model_version, key));
    images.emplace_back(one.file + ".rnli", std::move(image));
  }
  RUNNEL_ASSIGN(auto sources, compiler::write_sources(program));
  RUNNEL_ASSIGN(auto files, files_for(system, program, std::move(sources)));
  files.push_back({program.name + ".profile.json", text_of(profile)});
  RUNNEL_TRY(write_folder(request.output, files));
  EmbedOutcome made = outcome_of(program, models[0].plan.model->model());
  made.kinds = models[0].plan.program.operators;
  made.model_bytes = models[0].plan.program.model.size();
  for (const compiler::EmbeddedFile& file : files) made.files.push_back(file.path);
  for (const auto& [path, bytes] : images) {
    RUNNEL_TRY(write_file(std::filesystem::path(request.output) / path, bytes));
    made.files.push_back(path);
    request.say(fmt::format("{}/{}: image of {} bytes, version {}{}", request.output, path, bytes.size(),
                            request.model_version, key ? ", signed" : ""));
  }
  request.say(
      fmt::format("{4}, which takes models of the profile "
                  "{0}/{1}.profile.json: {2} kinds of operators, {3} bytes of memory",
                  request.output, program.name, program.operators.size(), program.memory_bytes,
                  library_of(request, system, program.name)));
  return made;
}

}  // namespace

Result<EmbedOutcome> embed_model(EmbedRequest request, compiler::LoadOptions load) {
  if (!request.say) request.say = [](std::string_view) {};
  RUNNEL_ASSIGN(const BuildSystem system, build_system(request.build_system));
  const std::lock_guard lock(turn());
  if (request.in_partition) return embed_partition(request, system, load);
  if (!request.profile.empty() || !request.key.empty())
    return Status(Code::invalid_argument,
                  "--profile and --key are about models in partitions: expected --model-partition");
  RUNNEL_ASSIGN(ProgramPlan plan, plan_program(request, load));
  const std::vector<std::string> kinds = plan.program.operators;
  RUNNEL_TRY(finish_program(request, plan));
  RUNNEL_ASSIGN(auto sources, compiler::write_sources(plan.program));
  RUNNEL_ASSIGN(const auto files, files_for(system, plan.program, std::move(sources)));
  RUNNEL_TRY(write_folder(request.output, files));
  EmbedOutcome made = outcome_of(plan.program, plan.model->model());
  made.kinds = kinds;
  for (const compiler::EmbeddedFile& file : files) made.files.push_back(file.path);
  say_done(request, system, made);
  return made;
}

}  // namespace runnel::embedding
