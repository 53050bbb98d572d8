// runnel embed: a model and its graph as C++ source for firmware.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <list>
#include <memory>
#include <set>

#include "apps/call/progress.h"
#include "apps/embed_speech.h"
#include "apps/graphs.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "compiler/embed/compiled_model.h"
#include "compiler/embed/sources.h"
#include "compiler/ir/model_graph.h"
#include "compiler/write/writer.h"
#include "decoding/host/search_tables_source.h"
#include "embed/node.h"
#include "embed/program.h"
#include "features/fbank/rom_fbank.h"
#include "features/host/fbank_source.h"
#include "features/host/microfrontend_source.h"
#include "inference/delegate.h"
#include "npu/delegate.h"
#include "npu/host/simulator/fake_device.h"
#include "npu/payload.h"
#include "pipeline/host/detector_source.h"
#include "pipeline/host/registry.h"
#include "pipeline/host/text.h"
#include "pipeline/nodes/decide/detect.h"
#include "pipeline/nodes/decode/ctc.h"
#include "pipeline/nodes/decode/transducer.h"
#include "pipeline/nodes/model/model_stream.h"
#include "pipeline/nodes/nodes.h"
#include "pipeline/nodes/spectrum/fbank.h"
#include "pipeline/nodes/spectrum/microfrontend.h"
#include "pipeline/nodes/spectrum/rom_fbank.h"
#include "pipeline/nodes/spectrum/rom_microfrontend.h"

namespace runnel::apps {
namespace {

struct EmbedCall {
  ModelGraph graph;
  std::string output, name, samples, runnel_folder = RUNNEL_SOURCE_FOLDER;
  int sample_rate = 0, channels = 1, hop = 0, events = 4;
  std::size_t memory = 0, fast = 0;
  bool self_test = false, step = false;
  ModelFlags flags;
};

constexpr std::array<std::string_view, 6> kProcessors = {"cortex-m4", "cortex-m7", "cortex-m55",
                                                         "rv32imac",  "rv32imafc", "rv64gc"};
const std::set<std::string_view> kFloatFrontEnds = {"fbank", "mfcc", "spectrogram", "stft"};

// Limits of a device, in bytes.
constexpr std::size_t kMaxMemory = std::size_t{64} << 20;

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

// Numbers as C++ literals of exactly the same value, enumerations as '#' and their number.
std::string literal(const pipeline::Parameter& parameter, const pipeline::Value& value, bool option) {
  switch (value.type) {
    case pipeline::ParameterType::boolean:
      return value.boolean ? "true" : "false";
    case pipeline::ParameterType::integer:
      return std::to_string(value.integer);
    case pipeline::ParameterType::real: {
      // Members are float or double: hexadecimal literals are exact for both.
      return option || static_cast<double>(static_cast<float>(value.real)) == value.real
                 ? fmt::format("{:a}F", value.real)
                 : fmt::format("{:a}", value.real);
    }
    case pipeline::ParameterType::text:
      break;
  }
  if (!option) return compiler::quoted(value.text);
  std::size_t index = 0;
  for (std::string_view rest = parameter.choices; !rest.empty(); ++index) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == value.text) break;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return "#" + std::to_string(index);
}

// One node of the text, with all its parameters.
Result<compiler::EmbeddedNode> embedded(const pipeline::NodeText& text, std::size_t index,
                                        const std::string& model, const EmbeddedSpeech& speech) {
  RUNNEL_ASSIGN(const pipeline::NodeType* const type,
                pipeline::find_node(pipeline::device_nodes(), text.type, true));
  const auto rows = pipeline::device_node_rows();
  const auto known =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.type == type; });
  if (known == rows.end() || known->header.empty())
    return Status(Code::unsupported) << "the node " << text.type << " cannot be embedded";
  HeapMemory memory;
  pipeline::Node* const made = type->make(memory);
  if (made == nullptr) return pipeline::out_of_memory(text.type);
  for (const pipeline::ParameterText& given : text.parameters) {
    if (const auto found = pipeline::find_parameter(*type, given.key); !found.ok()) return found.status();
  }
  compiler::EmbeddedNode out{text.type,
                             std::string(known->class_name),
                             std::string(known->header),
                             std::to_string(type->input.kinds),
                             std::to_string(type->output.kinds),
                             {},
                             {}};
  for (const pipeline::Parameter& parameter : type->parameters) {
    for (const pipeline::ParameterText& given : text.parameters) {
      if (given.key != parameter.name) continue;
      RUNNEL_ASSIGN(const pipeline::Value value, pipeline::parse_value(parameter, given.value));
      RUNNEL_TRY(pipeline::check_value(parameter, value));
      RUNNEL_TRY(parameter.set(parameter, *made, value));
    }
  }
  if (text.type == "fbank") {
    // Its tables go to ROM.
    const std::string name = fmt::format("Fbank{}Tables", index);
    const features::FbankOptions& options = static_cast<const pipeline::Fbank*>(made)->options;
    const bool constant = features::has_rom_form(options);
    auto source = features::fbank_source(options, name);
    made->~Node();
    if (!source.ok()) return source.status();
    out.definitions = std::move(*source);
    out.header = "pipeline/nodes/spectrum/rom_fbank.h";
    if (constant) {
      out.class_name = fmt::format("Fbank{}Node", index);
      out.definitions += fmt::format("using {} = RecipeFbank<{}>;\n", out.class_name, name);
    } else {
      out.class_name = "RomFbank";
      out.members.push_back({"tables", "&" + name + "::kTables"});
    }
    return out;
  }
  if (text.type == "microfrontend") {
    const auto& node = static_cast<const pipeline::Microfrontend&>(*made);
    const std::string name = fmt::format("Microfrontend{}Tables", index), gives(node.dtype),
                      non_finite(node.non_finite);
    auto source = features::microfrontend_source(node.options, name);
    made->~Node();
    if (!source.ok()) return source.status();
    out.definitions = std::move(*source);
    out.class_name = "RomMicrofrontend";
    out.header = "pipeline/nodes/spectrum/rom_microfrontend.h";
    out.members = {{"options", "&" + name + "::kOptions"},
                   {"tables", "&" + name + "::kTables"},
                   {"gives", "DType::" + gives},
                   {"non_finite", compiler::quoted(non_finite)}};
    return out;
  }
  if (speech.tables != nullptr) {
    // What its files say goes to ROM.
    const std::string name = fmt::format("k{}{}Tables", known->class_name, index);
    out.definitions = decoding::search_tables_source(speech.tables->tables(), name);
    out.members.push_back({"tables", "&" + name});
  }
  for (const pipeline::Parameter& parameter : type->parameters) {
    if (speech.tables != nullptr && is_in_tables(parameter.name)) continue;
    const bool option = known->has_options && known->own_settings.find("," + std::string(parameter.name) +
                                                                       ",") == std::string_view::npos;
    if (parameter.name == "preset") continue;
    const pipeline::Value value = parameter.get(parameter, *made);
    const bool is_model = text.type == "infer" && parameter.name == "model";
    out.members.push_back({(option ? "options." : "") + std::string(parameter.name),
                           is_model ? compiler::quoted(model) : literal(parameter, value, option)});
  }
  made->~Node();
  return out;
}

// The nodes of the graph without model file and source, in order.
Result<std::vector<pipeline::NodeText>> chain_of(const EmbedCall& call, const Model& model) {
  RUNNEL_ASSIGN(const std::string around, text_around(call.graph, model));
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

// The model for ROM: without the parts that only hosts read.
Result<std::vector<std::byte>> rom_model(const Model& model, bool keep_vectors, bool keep_names) {
  compiler::Graph graph = compiler::graph_of(model);
  if (!keep_vectors) graph.vectors.clear();
  graph.metadata.clear();
  graph.pipeline.front_end.clear();
  graph.pipeline.decision.clear();
  compiler::WriteOptions options;
  options.strip_names = !keep_names;
  options.blocks.clear();
  // Frames count along its time axis, so the axis must be that of the file.
  options.plan = model.plan() != nullptr;
  RUNNEL_ASSIGN(compiler::WrittenModel written, compiler::write_model(graph, options));
  return std::move(written.bytes);
}

// Those of the model files: of the recogniser (null: it is compiled), and of the parts of its decoder.
Result<std::vector<std::string>> operators_of(const Model* recogniser, const EmbeddedSpeech& decoder) {
  std::vector<const Model*> models;
  if (recogniser != nullptr) models.push_back(recogniser);
  for (const EmbeddedSpeech::Part& part : decoder.parts) models.push_back(&part.model->model());
  std::vector<std::string> all;
  for (const Model* const model : models) {
    RUNNEL_ASSIGN(const std::vector<std::string> some, compiler::operator_symbols(*model));
    for (const std::string& one : some)
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  return all;
}

// A dry run of the generated program on this machine: checks everything before any file is written, and
// measures the memory. Future constants are allocated in a separate memory, which does not count.
struct DryProgram {
  std::vector<pipeline::NodeText> nodes;
  std::list<features::Fbank> fbanks;
  std::list<features::Microfrontend> microfrontends;
  std::vector<const pipeline::Node*> made;
  const Prepared* compiled = nullptr;              // null: the model is interpreted
  int output = 0;                                  // tensor of the compiled model
  pipeline::Format gives;                          // of the compiled model's node
  const decoding::SearchTables* search = nullptr;  // of the decoder of speech
  HeapMemory constants;
};
DryProgram* dry_program = nullptr;

// Allocates what RomInfer allocates, and computes nothing.
class DryCompiled final : public pipeline::Node {
 public:
  Status prepare(pipeline::NodeContext& context) noexcept override {
    RUNNEL_ASSIGN(const Session session,
                  pipeline::ModelStream::make_session(context, *dry_program->compiled));
    const Placement& out = dry_program->compiled->placement(dry_program->output);
    pipeline::ModelStreamShape shape;
    shape.out_frames = out.frames;
    shape.up = out.up;
    shape.down = out.down;
    stream_.start(context, session, shape, {}, {});
    context.output = dry_program->gives;
    return {};
  }
  std::int64_t reset(std::int64_t first) noexcept override { return first; }
  Status process(const pipeline::Block&, pipeline::Output&) noexcept override { return {}; }
  Status flush(pipeline::Output& out) noexcept override {
    out.end = true;
    return {};
  }

 private:
  [[maybe_unused]] const void* model_ = nullptr;  // a pointer as in RomInfer
  pipeline::ModelStream stream_;
};

// The node as in the generated program: front ends with constant tables, and the compiled model.
Result<pipeline::Node*> dry_node(const pipeline::NodeType& type, const pipeline::NodeText& text,
                                 Memory& memory) {
  const bool constant = text.type == "fbank" || text.type == "microfrontend";
  if (text.type == "infer" && dry_program->compiled != nullptr) return embed::place<DryCompiled>(memory);
  pipeline::Node* const node = type.make(constant ? dry_program->constants : memory);
  if (node == nullptr) return node;
  for (const pipeline::Parameter& parameter : type.parameters) {
    for (const pipeline::ParameterText& given : text.parameters) {
      if (given.key != parameter.name) continue;
      RUNNEL_ASSIGN(const pipeline::Value value, pipeline::parse_value(parameter, given.value));
      RUNNEL_TRY(parameter.set(parameter, *node, value));
    }
  }
  if (text.type == "ctc") {
    auto* const ctc = static_cast<pipeline::Ctc*>(node);
    ctc->lexicon = ctc->grammar = ctc->hotwords = {};
    ctc->tables = dry_program->search;
  }
  if (text.type == "transducer") {
    auto* const transducer = static_cast<pipeline::Transducer*>(node);
    transducer->hotwords = {};
    transducer->tables = dry_program->search;
  }
  if (text.type == "fbank") {
    RUNNEL_ASSIGN(features::Fbank made,
                  features::Fbank::make(static_cast<const pipeline::Fbank*>(node)->options, Isa::reference,
                                        dry_program->constants));
    auto* const out = embed::place<pipeline::RomFbank>(memory);
    if (out != nullptr) out->tables = &dry_program->fbanks.emplace_back(std::move(made)).tables();
    return out;
  }
  if (text.type == "microfrontend") {
    const auto& given = static_cast<const pipeline::Microfrontend&>(*node);
    RUNNEL_ASSIGN(features::Microfrontend made,
                  features::Microfrontend::make(given.options, Isa::reference, dry_program->constants));
    auto* const out = embed::place<pipeline::RomMicrofrontend>(memory);
    if (out == nullptr) return out;
    const features::Microfrontend& kept = dry_program->microfrontends.emplace_back(std::move(made));
    out->options = &kept.options();
    out->tables = &kept.tables();
    out->gives = given.dtype == "int8"      ? DType::int8
                 : given.dtype == "float32" ? DType::float32
                                            : DType::uint16;
    out->non_finite = given.non_finite;
    return out;
  }
  return node;
}

bool make_dry_nodes(Memory& memory, std::span<pipeline::Stage> stages) noexcept {
  dry_program->made.clear();
  for (std::size_t i = 0; i < dry_program->nodes.size(); ++i) {
    const pipeline::NodeText& text = dry_program->nodes[i];
    const auto type = pipeline::find_node(pipeline::device_nodes(), text.type, true);
    const auto node = dry_node(**type, text, memory);
    if (!node.ok() || *node == nullptr) return false;
    dry_program->made.push_back(*node);
    stages[i] = {*node, *type, text.type, static_cast<int>(i)};
  }
  return true;
}

// With the back end that devices have, for models with parts for an NPU.
OperatorTable dry_operators() {
  static const std::vector<const OperatorDefinition*> table = [] {
    std::vector<const OperatorDefinition*> all(all_operators().begin(), all_operators().end());
    all.push_back(&npu::ethos_u_v1);
    return all;
  }();
  return table;
}

// The NPU that segments of the model are made for; empty: there are none. A device that they fit to, which
// the dry run asks but does not start, is added to this program.
Result<std::string> add_dry_device(const Model& model) {
  for (int i = 0; i < model.operator_count(); ++i) {
    if (code_of(model.op(i)) != OpCode::delegate) continue;
    const DelegateSegment segment(model, model.op(i));
    if (segment.kind() != "ethos-u") continue;
    RUNNEL_ASSIGN(const npu::Payload payload, npu::read_payload(segment.part("command_stream")));
    npu::FakeDeviceOptions options;
    options.config = payload.config;
    options.id = payload.id;
    static npu::FakeDevice device(options);
    static npu::Driver driver(device);
    RUNNEL_TRY(driver.init());
    npu::add_driver(driver);
    return std::string(driver.accelerator()->name);
  }
  return std::string();
}

struct DryRun {
  std::size_t memory_bytes = 0, fast_bytes = 0;
  std::int64_t hop = 1;  // samples from frame to frame after the front end
  bool events = false;
  pipeline::Format features, output;               // input and output of the model
  const decoding::SearchTables* search = nullptr;  // as it was given
  std::vector<std::string> decisions;  // per node: if it is a decision, its facts as C++ (decision_name)
};

std::string decision_name(std::size_t node) { return fmt::format("Decision{}", node); }

// `compiled`: null, or the prepared model whose output `tensor` has the format `gives`.
struct DryModel {
  const Prepared* compiled = nullptr;
  int tensor = 0;
  pipeline::Format gives{};
  const decoding::SearchTables* search = nullptr;  // of the decoder of speech
};

Result<DryRun> dry_run(const compiler::EmbeddedProgram& program, const std::vector<pipeline::NodeText>& nodes,
                       std::size_t fast, const DryModel& model = {}) {
  DryProgram parts;
  parts.nodes = nodes;
  parts.compiled = model.compiled;
  parts.output = model.tensor;
  parts.gives = model.gives;
  parts.search = model.search;
  dry_program = &parts;
  runnel_program dry;
  dry.name = program.name.c_str();
  dry.model = {reinterpret_cast<const unsigned char*>(program.model.data()), program.model.size()};
  dry.compiled = model.compiled != nullptr;
  if (!dry.compiled) dry.make_loader = embed::rom_loader;
  std::vector<embed::NamedModel> named;
  for (const compiler::EmbeddedProgram::Model& one : program.models)
    named.push_back(
        {one.name.c_str(), {reinterpret_cast<const unsigned char*>(one.file.data()), one.file.size()}});
  dry.models = named;
  if (!named.empty()) dry.make_loader = embed::rom_models_loader;
  dry.operators = dry_operators();
  dry.input = {.kind = pipeline::Kind::audio,
               .dtype = DType::float32,
               .channels = program.channels,
               .clock = {.sample_rate = program.sample_rate},
               .source = {},
               .labels = {}};
  dry.hop = program.hop;
  dry.make_nodes = make_dry_nodes;
  dry.stages = static_cast<int>(nodes.size());
  dry.features_stage = program.features_stage;
  dry.output_stage = program.output_stage;
  dry.plain_kernels = true;
  HeapMemory heap;
  auto* memory = heap.allocate(kMaxMemory, RUNNEL_ALIGNMENT);
  auto* fast_memory = fast > 0 ? heap.allocate(fast, RUNNEL_ALIGNMENT) : nullptr;
  runnel_options options = {memory, kMaxMemory, fast_memory, fast, nullptr, nullptr};
  runnel_node* node = nullptr;
  DryRun out;
  out.decisions.resize(nodes.size());
  out.search = model.search;
  for (const bool events : {false, true}) {
    dry.events = events;
    if (const runnel_code code = runnel_prepare(&dry, &options, &node); code != RUNNEL_OK) {
      return Status(code == RUNNEL_MISMATCH      ? Code::mismatch
                    : code == RUNNEL_UNSUPPORTED ? Code::unsupported
                                                 : Code::invalid_argument,
                    runnel_last_failure());
    }
    const runnel_counters used = runnel_counters_of(node);
    out.memory_bytes = used.memory_used;
    out.fast_bytes = used.fast_used;
    if (program.features_stage >= 0) {
      const pipeline::Clock& clock = node->executor->format(1 + program.features_stage).clock;
      out.features = node->executor->format(1 + program.features_stage);
      out.output = node->executor->format(1 + program.output_stage);
      out.hop = std::clamp<std::int64_t>(clock.hop / clock.denominator, 1, 4096);
    }
    out.events = events;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].type == "detect")
        out.decisions[i] = pipeline::detector_source(
            static_cast<const pipeline::Detect*>(parts.made[i])->facts(), decision_name(i));
    }
    if (node->executor->format(static_cast<int>(nodes.size())).kind != pipeline::Kind::events) break;
  }
  return out;
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

// Decisions get their settings as constants.
void fix_decisions(const DryRun& dry, compiler::EmbeddedProgram& program) {
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (dry.decisions[i].empty()) continue;
    compiler::EmbeddedNode& node = program.nodes[i];
    node.class_name = fmt::format("Detect{}Node", i);
    node.header = "pipeline/nodes/decide/rom_detect.h";
    node.definitions =
        dry.decisions[i] + fmt::format("using {} = RomDetect<{}>;\n", node.class_name, decision_name(i));
    node.members.clear();
  }
}

// Replaces the interpreting node by one with the model as constants, and measures the memory again.
Status compile(const EmbedCall& call, const Model& model, const std::vector<pipeline::NodeText>& chain,
               compiler::EmbeddedProgram& program, DryRun& dry) {
  if (call.self_test)
    return Status(Code::unsupported,
                  "--step --self-test: a compiled model has no test vectors; expected one of them");
  const auto at = static_cast<std::size_t>(program.output_stage);
  compiler::CompileOptions options;
  options.array = "runnel_" + program.name + "_model";
  options.scope = fmt::format("Infer{}", at);
  for (const pipeline::ParameterText& parameter : chain[at].parameters) {
    if (parameter.key == "output") options.output = parameter.value;
  }
  // C++ of the interpreting node.
  for (const compiler::EmbeddedNode::Member& member : program.nodes[at].members) {
    if (member.name == "chunk") options.chunk = std::atoll(member.value.c_str());
    if (member.name == "dequantize") options.dequantize = member.value == "true";
  }
  options.given = dry.features.dtype;
  options.given_exponent = dry.features.exponent;
  if (model.pipeline() != nullptr && model.pipeline()->labels() != nullptr) {
    for (const flatbuffers::String* label : *model.pipeline()->labels())
      options.labels.push_back(label->str());
  }
  options.fast_bytes = call.fast;
  auto compiled = compiler::compile_model(model, options);
  if (!compiled.ok()) return compiled.status().at(call.graph.model);
  compiler::EmbeddedNode& node = program.nodes[at];
  node.definitions = std::move(compiled->definitions);
  node.class_name = "RomInfer";
  node.header = "pipeline/nodes/model/rom_infer.h";
  node.members = {{"model", "&" + options.scope + "::kModel"}};
  program.model = std::move(compiled->constants);
  program.compiled = true;
  HeapMemory memory;
  DryModel dry_model{nullptr, 0, dry.output, dry.search};
  // The results of the first run are invalid now.
  const std::vector<std::string_view> labels(options.labels.begin(), options.labels.end());
  dry_model.gives.labels = labels;
  dry_model.gives.source = {};
  RUNNEL_ASSIGN(dry_model.compiled, compiler::prepare_for_compiling(model, options, memory));
  for (const std::int32_t tensor : model.outputs()) {
    if (options.output.empty() || model.tensor_name(tensor) == options.output) dry_model.tensor = tensor;
  }
  RUNNEL_ASSIGN(dry, dry_run(program, chain, call.fast, dry_model));
  return {};
}

Status run_embed(const EmbedCall& call) {
  RUNNEL_TRY(check_output_name(call.output, {}));
  const Patience patience("embedding " + call.graph.model);
  // Processors are targets of this verb; other values specify how to import a foreign file.
  const std::string& target = call.flags.target;
  const bool processor = target.starts_with("cortex-") || target.starts_with("rv");
  if (processor && std::find(kProcessors.begin(), kProcessors.end(), target) == kProcessors.end()) {
    return Status(Code::invalid_argument)
           << "--target " << target
           << ": expected cortex-m4, cortex-m7, cortex-m55, rv32imac, rv32imafc or rv64gc";
  }
  ModelFlags flags = call.flags;
  if (processor) flags.target.clear();
  RUNNEL_ASSIGN(const auto owned, load(call.graph.model, flags));
  const Model& model = owned->model();
  compiler::EmbeddedProgram program;
  program.name =
      call.name.empty() ? identifier(std::filesystem::path(call.graph.model).stem().string()) : call.name;
  program.origin = in_comment(std::filesystem::path(call.graph.model).filename().string());
  if (processor) program.target = target;
  program.runnel_folder = call.runnel_folder;
  RUNNEL_ASSIGN(std::vector<pipeline::NodeText> chain, chain_of(call, model));
  bool keep_names = false;
  std::int64_t wanted_rate = 0;
  EmbeddedSpeech decoder;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    pipeline::NodeText& node = chain[i];
    if (node.type == "infer") {
      program.output_stage = static_cast<int>(i);
      program.features_stage = static_cast<int>(i) - 1;
    }
    if (target == "rv32imac" && program.output_stage < 0 && kFloatFrontEnds.contains(node.type)) {
      say(fmt::format(
          "{} computes in floating point, which {} has not: each operation takes some 50 instructions; "
          "microfrontend has fixed point",
          node.type, target));
    }
    for (pipeline::ParameterText& parameter : node.parameters) {
      if (node.type == "infer" && parameter.key == "output") keep_names = true;
      if (node.type == "infer" && parameter.key == "model") parameter.value = program.name;
      if (parameter.key == "sample_frequency" && wanted_rate == 0)
        wanted_rate = std::atoll(parameter.value.c_str());
    }
    RUNNEL_ASSIGN(EmbeddedSpeech speech, take_speech(node, model, flags));
    RUNNEL_ASSIGN(compiler::EmbeddedNode one, embedded(node, i, program.name, speech));
    program.nodes.push_back(std::move(one));
    if (speech.tables != nullptr) decoder = std::move(speech);
  }
  for (const EmbeddedSpeech::Part& part : decoder.parts) {
    RUNNEL_ASSIGN(std::vector<std::byte> file, rom_model(part.model->model(), false, false));
    program.models.push_back({part.name, std::move(file)});
  }
  const decoding::SearchTables* const search =
      decoder.tables == nullptr ? nullptr : &decoder.tables->tables();
  const int stored_rate = model.pipeline() == nullptr ? 0 : model.pipeline()->sample_rate();
  program.sample_rate = call.sample_rate > 0 ? call.sample_rate
                        : stored_rate > 0    ? stored_rate
                        : wanted_rate > 0    ? wanted_rate
                                             : 16000;
  program.channels = call.channels;
  program.event_room = call.events;
  RUNNEL_ASSIGN(program.operators, operators_of(&model, decoder));
  const std::size_t kinds = program.operators.size();
  RUNNEL_ASSIGN(program.npu, add_dry_device(model));
  if (call.self_test && compiler::graph_of(model).vectors.empty())
    return Status(Code::not_found) << call.graph.model << ": --self-test, but the model has no test vectors";
  RUNNEL_ASSIGN(program.model, rom_model(model, call.self_test, keep_names));
  if (const fb::Pipeline* pipeline = model.pipeline(); pipeline != nullptr && pipeline->labels() != nullptr) {
    for (const flatbuffers::String* label : *pipeline->labels()) program.labels.push_back(label->str());
  }
  // The decision may have its own labels.
  for (const pipeline::ParameterText& parameter : chain.back().parameters) {
    if (parameter.key != "labels" || parameter.value.empty()) continue;
    program.labels.clear();
    for (std::size_t at = 0; at <= parameter.value.size();) {
      const std::size_t comma = std::min(parameter.value.find(',', at), parameter.value.size());
      program.labels.push_back(parameter.value.substr(at, comma - at));
      at = comma + 1;
    }
  }
  program.sample_type = !call.samples.empty() ? call.samples : call.channels == 1 ? "int16" : "float32";
  program.hop = call.hop > 0 ? call.hop : 16;
  // Those of a decoder of speech are the words of its lexicon or grammar.
  if (search != nullptr) program.labels.assign(search->graph.words.begin(), search->graph.words.end());
  auto dry = dry_run(program, chain, call.fast, {.search = search});
  if (!dry.ok() && call.samples.empty() && program.sample_type == "int16" &&
      dry.status().code() == Code::mismatch) {
    program.sample_type = "float32";
    dry = dry_run(program, chain, call.fast, {.search = search});
  }
  if (!dry.ok()) return dry.status().at(call.graph.model);
  if (call.hop == 0) {
    program.hop = dry->hop;
    dry = dry_run(program, chain, call.fast, {.search = search});
    if (!dry.ok()) return dry.status().at(call.graph.model);
  }
  program.events = dry->events;
  fix_decisions(*dry, program);
  if (call.step) {
    RUNNEL_ASSIGN(program.operators, operators_of(nullptr, decoder));
    RUNNEL_TRY(compile(call, model, chain, program, *dry));
  }
  if (program.events && program.labels.empty() && search == nullptr) {
    const auto classes = static_cast<std::size_t>(
        model.tensor(model.outputs()[0]).shape[model.tensor(model.outputs()[0]).shape.rank - 1]);
    for (std::size_t i = 0; i < classes; ++i) program.labels.push_back(std::to_string(i));
  }
  program.measured = call.memory > 0;
  program.memory_bytes = (call.memory > 0 ? call.memory : dry->memory_bytes) + RUNNEL_ALIGNMENT - 1;
  program.memory_bytes -= program.memory_bytes % RUNNEL_ALIGNMENT;
  program.fast_bytes = call.fast;
  RUNNEL_ASSIGN(const auto files, compiler::write_sources(program));
  RUNNEL_TRY(write_folder(call.output, files));
  say(
      fmt::format("{}: {} operators of {} kinds, model {} bytes, hop {} samples of {} Hz; {}/CMakeLists.txt "
                  "makes the library {}",
                  call.graph.model, model.operator_count(), kinds, program.model.size(), program.hop,
                  program.sample_rate, call.output, program.name));
  if (!program.npu.empty())
    say(fmt::format("parts run on {}: runnel_npu_add() in embed/npu/runnel_npu.h gives it to the program",
                    program.npu));
  return {};
}

}  // namespace

void add_embed(Verb verb, int& exit_code) {
  auto call = std::make_shared<EmbedCall>();
  verb.positional("MODEL", call->graph.model, kWholeModel).required();
  verb.option("-o,--output", call->output,
              "Folder to write: sources, header, CMakeLists.txt, glue for Zephyr and ESP-IDF")
      .required();
  verb.option("--name", call->name, "Name of the library and of runnel_NAME in C (default: the file's name)");
  verb.option("--front-end", call->graph.front_end, "Graph text before the model (default: the model's own)");
  verb.option("--decision", call->graph.decision, "Graph text after the model (default: the model's own)");
  verb.option("--sample-rate", call->sample_rate, "Sample rate in Hz (default: the model's, else 16000)")
      .positive()
      .default_str("");
  verb.option("--channels", call->channels, "Channels of the samples").range(1, 256);
  verb.option(
          "--samples", call->samples,
          "Type of the samples (default: int16 for one channel where the front end takes it, else float32)")
      .choices({"int16", "float32"});
  verb.option("--hop", call->hop, "Samples per block (default: the front end's hop)")
      .positive()
      .default_str("");
  verb.option("--events", call->events, "Capacity of the queue of decisions").range(1, 1000);
  verb.option("--memory", call->memory,
              "Bytes of memory as measured on the board (runnel_counters), instead of the bound")
      .range(std::size_t{0}, kMaxMemory, "BYTES")
      .default_str("");
  verb.option(
          "--fast", call->fast,
          "Bytes of a second tier of fast memory for scratch, tensors, state and weights (default: one tier)")
      .range(std::size_t{0}, kMaxMemory, "BYTES")
      .default_str("");
  verb.flag("--step", call->step,
            "Compile the model into constants and calls of the kernels that it uses: no model file is "
            "read on the device; for streaming models");
  verb.flag("--self-test", call->self_test, "Keep the model's test vectors, for runnel_self_test()");
  verb.option("--runnel", call->runnel_folder, "Source tree of runnel that the folder builds with");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_embed(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
