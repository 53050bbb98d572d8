#include "services/embed/program_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>

#include "base/host/output_name.h"
#include "compiler/ir/model_graph.h"
#include "services/embed/build_system.h"
#include "services/embed/dry_device.h"
#include "services/embed/node_source.h"
#include "services/embed/rom_files.h"
#include "services/listen/model_graph.h"

namespace runnel::embedding {
namespace {

constexpr std::array<std::string_view, 6> kProcessors = {"cortex-m4", "cortex-m7", "cortex-m55",
                                                         "rv32imac",  "rv32imafc", "rv64gc"};
constexpr int kMaxCores = 8;
constexpr std::array<std::string_view, 4> kFloatFrontEnds = {"fbank", "mfcc", "spectrogram", "stft"};

bool is_one_of(std::string_view text, std::span<const std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// Processors are targets of their own; other values say how to import a foreign file.
bool names_processor(std::string_view target) {
  return target.starts_with("cortex-") || target.starts_with("rv");
}

Status check_range(std::string_view option, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return {};
  return Status(Code::invalid_argument) << option << " " << value << ": expected " << least << " to " << most;
}

Status check_request(const EmbedRequest& request) {
  if (request.output.empty()) return Status(Code::invalid_argument, "no output, expected a folder to write");
  RUNNEL_TRY(check_output_name(request.output, {}));
  if (names_processor(request.target) && !is_one_of(request.target, kProcessors)) {
    return Status(Code::invalid_argument)
           << "--target " << request.target
           << ": expected cortex-m4, cortex-m7, cortex-m55, rv32imac, rv32imafc or rv64gc";
  }
  if (!request.samples.empty() && request.samples != "int16" && request.samples != "float32")
    return Status(Code::invalid_argument) << "--samples " << request.samples << ": expected int16 or float32";
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  RUNNEL_TRY(check_range("--sample-rate", request.sample_rate, 0, kMost));
  RUNNEL_TRY(check_range("--channels", request.channels, 1, 256));
  RUNNEL_TRY(check_range("--hop", request.hop, 0, kMost));
  RUNNEL_TRY(check_range("--events", request.events, 1, 1000));
  RUNNEL_TRY(check_range("--memory", request.memory, 0, kMaxMemory));
  RUNNEL_TRY(check_range("--fast", request.fast, 0, kMaxMemory));
  RUNNEL_TRY(check_range("--cores", request.cores, 1, kMaxCores));
  if (request.step && request.cores > 1)
    return Status(Code::invalid_argument,
                  "--step --cores: operators of a compiled model are not split; expected one of them");
  if (request.step && request.self_test)
    return Status(Code::invalid_argument,
                  "--step --self-test: a compiled model has no test vectors; expected one of them");
  return {};
}

// The name of a file for a comment in C++ or CMake: it can neither end the comment nor continue after it.
std::string in_comment(std::string name) {
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) < 32 || letter == 127 || letter == '\\' || letter == '*')
      letter = '_';
  }
  return name;
}

std::string identifier(std::string text) {
  for (char& letter : text) letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) text.insert(0, "model_");
  return text;
}

// What the request alone says of the program.
compiler::EmbeddedProgram program_of(const EmbedRequest& request) {
  const std::filesystem::path model(request.model);
  compiler::EmbeddedProgram program;
  program.name = request.name.empty() ? identifier(model.stem().string()) : request.name;
  program.origin = in_comment(model.filename().string());
  if (names_processor(request.target)) program.target = request.target;
  program.runnel_folder = request.runnel;
  program.channels = request.channels;
  program.event_room = request.events;
  program.sample_type = !request.samples.empty() ? request.samples
                        : request.channels == 1  ? "int16"
                                                 : "float32";
  program.fast_bytes = static_cast<std::size_t>(request.fast);
  program.counters = request.counters;
  program.cores = request.cores;
  return program;
}

// The nodes of the graph without model file and source, in order.
Result<std::vector<pipeline::NodeText>> chain_of(const EmbedRequest& request, const Model& model) {
  RUNNEL_ASSIGN(const std::string around,
                listen::text_around({request.model, request.front_end, request.decision}, model));
  RUNNEL_ASSIGN(pipeline::GraphText graph, pipeline::parse_graph(around));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].input != static_cast<int>(i) - 1 || !graph.nodes[i].more_inputs.empty()) {
      return Status(Code::unsupported)
             << "the graph \"" << around
             << "\" has branches; one chain from the samples to the decision can be embedded";
    }
  }
  return std::move(graph.nodes);
}

// What the chain says besides its nodes.
struct ChainFacts {
  EmbeddedSpeech decoder;        // without tables: there is no decoder of speech
  bool keep_names = false;       // a node asks for a tensor by its name
  std::int64_t sample_rate = 0;  // that a front end expects; 0: none does
};

// Adds the nodes of the chain to the program. In the chain, models get the names that they have in it.
Result<ChainFacts> add_nodes(const EmbedRequest& request, const compiler::LoadOptions& load,
                             const Model& model, std::vector<pipeline::NodeText>& chain,
                             compiler::EmbeddedProgram& program) {
  RUNNEL_ASSIGN(const BuildSystem system, build_system(request.build_system));
  ChainFacts facts;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    pipeline::NodeText& node = chain[i];
    if (node.type == "infer") {
      program.output_stage = static_cast<int>(i);
      program.features_stage = static_cast<int>(i) - 1;
    }
    if (request.target == "rv32imac" && program.output_stage < 0 && is_one_of(node.type, kFloatFrontEnds)) {
      request.say(fmt::format(
          "{} computes in floating point, which {} has not: each operation takes some 50 instructions; "
          "microfrontend has fixed point",
          node.type, request.target));
    }
    for (pipeline::ParameterText& parameter : node.parameters) {
      if (node.type == "infer" && parameter.key == "output") facts.keep_names = true;
      if (node.type == "infer" && parameter.key == "model") parameter.value = program.name;
      if (parameter.key == "sample_frequency" && facts.sample_rate == 0)
        facts.sample_rate = std::atoll(parameter.value.c_str());
    }
    RUNNEL_ASSIGN(EmbeddedSpeech speech, take_speech(node, model, load, request.say));
    RUNNEL_ASSIGN(compiler::EmbeddedNode one,
                  node_source(node, i, program.name, speech, system != BuildSystem::wasm));
    program.nodes.push_back(std::move(one));
    if (speech.tables != nullptr) facts.decoder = std::move(speech);
  }
  for (const EmbeddedSpeech::Part& part : facts.decoder.parts) {
    RUNNEL_ASSIGN(std::vector<std::byte> file, rom_model(part.model->model(), {}));
    program.models.push_back({part.name, std::move(file)});
  }
  return facts;
}

// Those of the decoder's words, of the decision's own parameter, or of the model.
std::vector<std::string> program_labels(const Model& model, const pipeline::NodeText& decision,
                                        const decoding::SearchTables* search) {
  std::vector<std::string> labels;
  if (search != nullptr) {
    labels.assign(search->graph.words.begin(), search->graph.words.end());
    return labels;
  }
  if (const fb::Pipeline* pipeline = model.pipeline(); pipeline != nullptr && pipeline->labels() != nullptr) {
    for (const flatbuffers::String* label : *pipeline->labels()) labels.push_back(label->str());
  }
  for (const pipeline::ParameterText& parameter : decision.parameters) {
    if (parameter.key != "labels" || parameter.value.empty()) continue;
    labels.clear();
    for (std::size_t at = 0; at <= parameter.value.size();) {
      const std::size_t comma = std::min(parameter.value.find(',', at), parameter.value.size());
      labels.push_back(parameter.value.substr(at, comma - at));
      at = comma + 1;
    }
  }
  return labels;
}

// Finds the type of the samples, the hop, unless the request has them, whether anything passes by the model,
// and the memory.
Result<DryRun> settle(const EmbedRequest& request, const std::vector<pipeline::NodeText>& chain,
                      const decoding::SearchTables* search, compiler::EmbeddedProgram& program) {
  DryModel interpreted{.search = search, .counters = program.counters, .cores = program.cores};
  program.hop = request.hop > 0 ? request.hop : 16;
  auto dry = dry_run(program, chain, program.fast_bytes, interpreted);
  if (!dry.ok() && request.samples.empty() && program.sample_type == "int16" &&
      dry.status().code() == Code::mismatch) {
    program.sample_type = "float32";
    dry = dry_run(program, chain, program.fast_bytes, interpreted);
  }
  if (dry.ok()) {
    if (request.hop == 0) program.hop = dry->hop;
    program.passes = interpreted.passes = dry->features.beside > 0;
    dry = dry_run(program, chain, program.fast_bytes, interpreted);
  }
  return dry;
}

}  // namespace

std::mutex& turn() {
  static std::mutex mutex;
  return mutex;
}

void extend_infer(compiler::EmbeddedProgram& program) {
  compiler::EmbeddedNode& node = program.nodes[static_cast<std::size_t>(program.output_stage)];
  if (program.cores > 1) {
    node.definitions += "using embed::CoresInfer;\n";
    node.class_name = "CoresInfer";
    node.members.push_back({"cores", std::to_string(program.cores)});
  }
  if (program.passes) {
    node.definitions += fmt::format("using PassingInfer = PassingBy<{}>;\n", node.class_name);
    node.class_name = "PassingInfer";
  }
  if (program.counters) {
    node.definitions += fmt::format("using TimedInfer = embed::Timed<{}>;\n", node.class_name);
    node.class_name = "TimedInfer";
  }
}

std::vector<std::string> numbers_of_classes(const Model& model) {
  const Shape& shape = model.tensor(model.outputs()[0]).shape;
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < shape[shape.rank - 1]; ++i) labels.push_back(std::to_string(i));
  return labels;
}

Result<ProgramPlan> plan_program(const EmbedRequest& request, compiler::LoadOptions load) {
  RUNNEL_TRY(check_request(request));
  load.target = names_processor(request.target) ? "" : request.target;
  ProgramPlan plan;
  RUNNEL_ASSIGN(plan.model, load_noted(request.model, load, request.say));
  const Model& model = plan.model->model();
  compiler::EmbeddedProgram& program = plan.program;
  program = program_of(request);
  RUNNEL_ASSIGN(plan.chain, chain_of(request, model));
  RUNNEL_ASSIGN(ChainFacts facts, add_nodes(request, load, model, plan.chain, program));
  plan.decoder = std::move(facts.decoder);
  plan.keep_names = facts.keep_names;
  const int stored_rate = model.pipeline() == nullptr ? 0 : model.pipeline()->sample_rate();
  program.sample_rate = request.sample_rate > 0 ? request.sample_rate
                        : stored_rate > 0       ? stored_rate
                        : facts.sample_rate > 0 ? facts.sample_rate
                                                : 16000;
  RUNNEL_ASSIGN(program.operators, operators_of(&model, plan.decoder));
  RUNNEL_ASSIGN(program.npu, add_dry_device(model));
  if (request.self_test && compiler::graph_of(model).vectors.empty())
    return Status(Code::not_found) << request.model << ": --self-test, but the model has no test vectors";
  RUNNEL_ASSIGN(program.model, rom_model(model, {.vectors = request.self_test, .names = plan.keep_names}));
  program.labels = program_labels(model, plan.chain.back(), plan.search());
  auto dry = settle(request, plan.chain, plan.search(), program);
  if (!dry.ok()) return dry.status().at(request.model);
  plan.dry = std::move(*dry);
  program.events = plan.dry.events;
  return plan;
}

}  // namespace runnel::embedding
