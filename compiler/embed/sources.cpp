#include "compiler/embed/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "inference/delegate.h"
#include "inference/operator.h"

namespace runnel::compiler {
namespace {

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

// The definition of segments for an Ethos-U (npu/delegate.h).
constexpr std::string_view kEthosU = "npu::ethos_u_v1";

std::size_t model_bytes(const EmbeddedProgram& p) {
  std::size_t bytes = p.model.size();
  for (const EmbeddedProgram::Model& one : p.models) bytes += one.file.size();
  return bytes;
}

constexpr const char* kMade = "Made by `runnel embed`; make it again instead of changing it.";

std::string header(const EmbeddedProgram& p) {
  const std::string big = "RUNNEL_" + upper(p.name);
  std::string out = fmt::format(
      "/* {0} as a program of runnel (runnel.h). {1} */\n#ifndef {2}_H\n#define {2}_H\n\n#include "
      "\"{3}\"\n\n",
      p.origin, kMade, big,
      p.in_partition  ? "embed/partition/runnel_slots.h"
      : p.npu.empty() ? "embed/runnel.h"
                      : "embed/npu/runnel_npu.h");
  if (p.counters) out += "#include \"embed/measure/runnel_measure.h\"\n\n";
  if (p.cores > 1)
    out += fmt::format(
        "#include \"embed/cores/runnel_cores.h\"\n\n/* Cores that heavy operators are split for. */\n"
        "#define {}_CORES {}\n",
        big, p.cores);
  if (!p.npu.empty())
    out += fmt::format(
        "/* Parts of the model are computed by this NPU, which runnel_npu_add() gives to the program. "
        "*/\n#define "
        "{}_NPU {}\n",
        big, compiler::quoted(p.npu));
  out += fmt::format("/* Memory for runnel_prepare(), {}. */\n#define {}_MEMORY_BYTES {}\n",
                     p.measured ? "as measured on the board"
                                : "a bound that was computed where this was made: pointers of 8 bytes",
                     big, p.memory_bytes);
  if (p.fast_bytes > 0)
    out += fmt::format("/* Of the second tier. */\n#define {}_FAST_BYTES {}\n", big, p.fast_bytes);
  if (!p.in_partition) out += fmt::format("#define {}_MODEL_BYTES {}\n", big, model_bytes(p));
  out += fmt::format(
      "#define {0}_SAMPLE_RATE {2}\n#define {0}_CHANNELS {3}\n/* Samples that "
      "are worked on at once: best pushed so many at a time. */\n#define {0}_HOP {4}\n"
      "#define {0}_LABELS {5}\n/* Samples are {6}. */\n#define {0}_SAMPLE_BYTES {7}\n\n",
      big, model_bytes(p), p.sample_rate, p.channels, p.hop, p.labels.size(), p.sample_type,
      p.sample_type == "int16" ? 2 : 4);
  out += fmt::format(
      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\nextern const runnel_{} runnel_{};\n#ifdef "
      "__cplusplus\n}}\n#endif\n\n#endif\n",
      p.in_partition ? "profile" : "program", p.name);
  return out;
}

// The array of a model, e.g. runnel_digits_model[25392].
std::string array_of(const EmbeddedProgram& p, std::string_view name, std::span<const std::byte> bytes) {
  return fmt::format("runnel_{}_{}[{}]", p.name, name, bytes.size());
}

void add_array(const EmbeddedProgram& p, std::string_view name, std::span<const std::byte> bytes,
               std::string& out) {
  const std::string array = array_of(p, name, bytes);
  out +=
      fmt::format("extern \"C\" const unsigned char {0};\nalignas(16) const unsigned char {0} = {{\n", array);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out += fmt::format("{},{}", std::to_integer<int>(bytes[i]), i % 32 == 31 ? "\n" : "");
  out += "\n};\n";
}

std::string model_source(const EmbeddedProgram& p) {
  std::string out = fmt::format("// The model {}, {} bytes. {}\n", p.origin, model_bytes(p), kMade);
  add_array(p, "model", p.model, out);
  for (const EmbeddedProgram::Model& one : p.models) add_array(p, one.name, one.file, out);
  return out;
}

// Further models, and the table in which nodes find them.
std::string models_table(const EmbeddedProgram& p) {
  if (p.models.empty()) return {};
  std::string out = "const embed::NamedModel kModels[] = {\n";
  for (const EmbeddedProgram::Model& one : p.models)
    out += fmt::format("    {{\"{1}\", {{runnel_{0}_{1}, sizeof runnel_{0}_{1}}}}},\n", p.name, one.name);
  return out + "};\n";
}

std::string stage_source(const EmbeddedNode& node, std::size_t index) {
  std::string out = fmt::format(
      "  auto* const {0}{1} = embed::place<{2}>(memory);\n  if ({0}{1} == nullptr) return false;\n",
      node.type, index, node.class_name);
  for (const EmbeddedNode::Member& member : node.members) {
    // Enumerations come as numbers.
    out += member.value.starts_with('#')
               ? fmt::format("  {0}{1}->{2} = static_cast<decltype({0}{1}->{2})>({3});\n", node.type, index,
                             member.name, member.value.substr(1))
               : fmt::format("  {0}{1}->{2} = {3};\n", node.type, index, member.name, member.value);
  }
  out +=
      fmt::format("  stages[{0}] = {{{1}{0}, &k{2}{0}, \"{1}\", {0}}};\n", index, node.type, node.class_name);
  return out;
}

bool has_link(const EmbeddedProgram& p) { return p.counters || p.cores > 1; }

// What --counters and --cores add to the program.
std::string infer_link(const EmbeddedProgram& p) {
  if (!has_link(p)) return {};
  const std::string& name = p.nodes[static_cast<std::size_t>(p.output_stage)].class_name;
  std::string out;
  if (p.counters)
    out += fmt::format(
        "embed::OperatorTimes& times_of(Node& node) noexcept {{ return static_cast<{}&>(node).times(); }}\n",
        name);
  if (p.cores > 1)
    out += fmt::format(
        "void use_cores(Node& node, const runnel_cores* cores) noexcept {{ "
        "static_cast<{}&>(node).use(cores); }}\n",
        name);
  return out + fmt::format("constexpr embed::InferLink kInferLink = {{{}u, {}, {}, {}, {}}};\n\n",
                           p.model_sum, p.counters ? "times_of" : "nullptr",
                           p.cores > 1 ? "use_cores" : "nullptr", p.cores,
                           p.counters && p.in_partition ? "model_sum" : "nullptr");
}

std::string program_source(const EmbeddedProgram& p) {
  const std::string big = "RUNNEL_" + upper(p.name);
  std::string out = fmt::format(
      "// The graph around {}: nodes, operators and sizes. {}\n#include \"{}.h\"\n\n#include "
      "\"embed/program.h\"\n{}",
      p.origin, kMade, p.name,
      p.in_partition ? "#include \"embed/partition/profile.h\"\n"
      : p.compiled   ? "#include \"inference/ops/bound.h\"\n#include "
                       "\"kernels/elementwise/rom_elementwise.h\"\n#include \"kernels/rom_kernels.h\"\n"
                     : "");
  if (!p.operators.empty())
    out +=
        "#include \"inference/custom.h\"\n#include \"inference/delegate.h\"\n#include "
        "\"inference/ops/definitions.h\"\n";
  std::set<std::string> headers;
  if (!p.npu.empty()) headers = {"embed/npu/npu_link.h", "npu/delegate.h"};
  for (const EmbeddedNode& node : p.nodes) headers.insert(node.header);
  if (p.passes) headers.insert("pipeline/nodes/model/passed_frames.h");
  if (p.counters) headers.insert("embed/measure/timed_infer.h");
  if (p.cores > 1) headers.insert("embed/cores/cores_infer.h");
  if (p.counters && p.in_partition) headers.insert("inference/model/model_sum.h");
  for (const std::string& one : headers) out += fmt::format("#include \"{}\"\n", one);
  if (!p.in_partition)
    out += fmt::format("\nextern \"C\" const unsigned char {};\n", array_of(p, "model", p.model));
  for (const EmbeddedProgram::Model& one : p.models)
    out += fmt::format("extern \"C\" const unsigned char {};\n", array_of(p, one.name, one.file));
  out += "\n";
  for (const std::string& one : p.operators) {
    if (one.starts_with("custom_"))
      out += fmt::format("extern const runnel::OperatorDefinition {};   // of the application\n", one);
  }
  out += "namespace {\n\nusing namespace runnel;\nusing namespace runnel::pipeline;\n\n";
  if (!p.operators.empty()) {
    out += "// Only these are linked.\nconst OperatorDefinition* const kOperators[] = {\n";
    for (const std::string& one : p.operators)
      out += fmt::format("    &{}{},\n",
                         one.starts_with("custom_") ? "::"
                         : one == kEthosU           ? ""
                                                    : "ops::",
                         one);
    out += "};\n";
  }
  out += models_table(p);
  if (!p.labels.empty()) {
    out += "const char* const kLabels[] = {";
    for (const std::string& label : p.labels) out += compiler::quoted(label) + ", ";
    out += "};\n";
  }
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    const EmbeddedNode& node = p.nodes[i];
    out += node.definitions;
    out += fmt::format(
        "constexpr NodeType k{}{} = {{.name = \"{}\", .help = {{}}, .input = {{{}, {{}}}}, .output = {{{}, "
        "{{}}}}, .parameters = {{}}, .make = nullptr}};\n",
        node.class_name, i, node.type, node.input_kinds, node.output_kinds);
  }
  out += "\nbool make_nodes(Memory& memory, std::span<Stage> stages) noexcept {\n";
  for (std::size_t i = 0; i < p.nodes.size(); ++i) out += stage_source(p.nodes[i], i);
  out += "  return true;\n}\n\n" + infer_link(p);
  out += fmt::format(
      "static_assert({0}_HOP >= 1 && {0}_CHANNELS >= 1);\nstatic_assert({1} <= "
      "embed::kMaxStages);\nstatic_assert({0}_MEMORY_BYTES >= sizeof(Executor) + {1} * sizeof(Stage)",
      big, p.nodes.size());
  for (const EmbeddedNode& node : p.nodes) out += fmt::format(" + sizeof({})", node.class_name);
  out += ", \"no room for the nodes\");\n\n}  // namespace\n\n";
  const std::string target = p.target == "generic" ? "any" : [&] {
    std::string text = p.target;
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
  }();
  const std::string loads = p.in_partition ? "    .model = {},\n"
                                           : fmt::format(
                                                 "    .model = {{runnel_{0}_model, sizeof "
                                                 "runnel_{0}_model}},\n{1}    .make_loader = {2},\n    "
                                                 ".compiled = {3},\n",
                                                 p.name, p.models.empty() ? "" : "    .models = kModels,\n",
                                                 !p.models.empty() ? "embed::rom_models_loader"
                                                 : p.compiled      ? "nullptr"
                                                                   : "embed::rom_loader",
                                                 p.compiled);
  const std::string members = fmt::format(
      "    .target = embed::Target::{0},\n    .name = {1},\n{12}    .operators = {10},\n    .labels = {2},\n"
      "    .samples = DType::{3},\n    .input = {{.kind = Kind::audio, .dtype = DType::float32, .channels = "
      "{4}_CHANNELS, .clock = {{.sample_rate = {4}_SAMPLE_RATE}}, .source = {{}}, .labels = {{}}}},\n"
      "    .hop = {4}_HOP,\n    .make_nodes = make_nodes,\n    .stages = {5},\n    .features_stage = {6},\n  "
      "  .output_stage = {7},\n    .events = {8},\n    .event_room = {9},\n{11}{14}"
      "    .memory_bytes = {4}_MEMORY_BYTES,\n    .fast_bytes = {13},\n",
      target, compiler::quoted(p.name), p.labels.empty() ? "{}" : "kLabels", p.sample_type, big,
      p.nodes.size(), p.features_stage, p.output_stage, p.events, p.event_room,
      p.operators.empty() ? "{}" : "kOperators", p.npu.empty() ? "" : "    .npu = &embed::ethos_u_link,\n",
      loads, p.fast_bytes, has_link(p) ? "    .infer = &kInferLink,\n" : "");
  if (!p.in_partition)
    return out + fmt::format("constinit const runnel_program runnel_{} = {{\n{}}};\n", p.name, members);
  std::string id;
  for (const std::uint8_t byte : p.profile_id) id += std::to_string(byte) + ", ";
  out += fmt::format(
      "constinit const runnel_profile runnel_{} = {{\n    .id = {{{}}},\n    .program = {{\n{}    }},\n}};\n",
      p.name, id, members);
  return out;
}

std::string cmake_source(const EmbeddedProgram& p) {
  return fmt::format(R"(# {0} for firmware: the library `{1}`, with everything of runnel that it needs. {2}
#
#   add_subdirectory({1})
#   target_link_libraries(my_firmware PRIVATE {1})
#
# The processor is that of the toolchain file's flags (-mcpu=...).
cmake_minimum_required(VERSION 3.25)
set(RUNNEL_DIR "{3}" CACHE PATH "runnel's source tree")
if(NOT TARGET runnel::embed)
  set(RUNNEL_HOST OFF CACHE BOOL "")
  set(RUNNEL_TESTS OFF CACHE BOOL "")
  set(RUNNEL_BENCH OFF CACHE BOOL "")
  set(RUNNEL_EXAMPLES OFF CACHE BOOL "")
  set(RUNNEL_DEVICE_FLAGS ON CACHE BOOL "")
  set(RUNNEL_FIRMWARE ON CACHE BOOL "")
  add_compile_options(-ffunction-sections -fdata-sections)   # so that the linker can leave out what is not used
  add_subdirectory(${{RUNNEL_DIR}} ${{CMAKE_CURRENT_BINARY_DIR}}/runnel EXCLUDE_FROM_ALL)
endif()
add_library({1} STATIC {1}.cpp{5})
target_include_directories({1} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_link_libraries({1} PUBLIC runnel::{4} PRIVATE runnel_flags)
target_compile_options({1} PRIVATE -Os)   # what is hot lies in runnel's kernels
)",
                     p.origin, p.name, kMade, p.runnel_folder,
                     p.in_partition  ? "embed_partition"
                     : p.npu.empty() ? "embed"
                                     : "embed_npu",
                     p.in_partition ? std::string() : " " + p.name + "_model.cpp");
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    // Octal numbers end after three digits, whatever follows.
    if (static_cast<unsigned char>(letter) < 32)
      out += fmt::format("\\{:03o}", static_cast<unsigned>(letter));
    else
      out += letter;
  }
  return out + '"';
}

namespace {

// Of an application's own operator.
std::string custom_symbol(std::string_view type, int version) {
  std::string name = "custom_" + std::string(type);
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name + "_v" + std::to_string(version);
}

bool is_ethos_u(const Model& model, const fb::Operator& op) {
  return code_of(op) == OpCode::delegate && DelegateSegment(model, op).kind() == "ethos-u";
}

// As inference/ops/definitions.h names them: kAdd, kAddTflite, kReduceMeanWindows.
std::string definition_symbol(OpCode code, Arithmetic arithmetic) {
  std::string name = "k";
  bool capital = true;
  const auto append = [&](std::string_view words) {
    for (const char letter : words) {
      if (letter != '_')
        name += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
      capital = letter == '_';
    }
    capital = true;
  };
  const std::string_view rules =
      arithmetic == Arithmetic::espdl ? std::string_view() : name_of(code, arithmetic);
  const bool fixed = rules == "fixed_point";
  if (fixed) append("fixed");
  append(name_of(code));
  if (!fixed) append(rules);
  return name;
}

}  // namespace

Result<std::vector<std::string>> operator_symbols(const Model& model) {
  std::vector<std::string> out;
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    const std::string_view type = operator_type(op);
    if (type.empty())
      return Status(Code::unsupported) << "operator " << i << " of code " << static_cast<int>(code_of(op))
                                       << ", which this version does not know";
    const std::string name = code_of(op) == OpCode::custom ? custom_symbol(type, op.version())
                             : is_ethos_u(model, op)       ? std::string(kEthosU)
                                                     : definition_symbol(code_of(op), arithmetic_of(op));
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  }
  return out;
}

Result<std::vector<EmbeddedFile>> write_sources(const EmbeddedProgram& program) {
  if (!is_identifier(program.name))
    return Status(Code::invalid_argument) << "the name \"" << program.name
                                          << "\", expected letters, digits and _: it becomes part of C names";
  std::vector<EmbeddedFile> out = {{program.name + ".h", header(program)},
                                   {program.name + ".cpp", program_source(program)},
                                   {"CMakeLists.txt", cmake_source(program)}};
  if (!program.in_partition) out.push_back({program.name + "_model.cpp", model_source(program)});
  return out;
}

}  // namespace runnel::compiler
