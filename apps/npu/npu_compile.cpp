#include "apps/npu/npu_compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/call/progress.h"
#include "apps/npu/npu_device.h"
#include "apps/support.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "compiler/import/pte/importer.h"
#include "compiler/import/tflite/importer.h"
#include "compiler/ir/model_graph.h"
#include "compiler/npu/compile.h"
#include "compiler/write/pte/writer.h"
#include "compiler/write/same_results.h"
#include "compiler/write/tflite/writer.h"
#include "compiler/write/writer.h"
#include "npu/host/simulator/simulated_npu.h"

namespace runnel::apps {
namespace {

namespace ethos_u = compiler::ethos_u;

struct CompileCall {
  std::string model, output, accelerator = "ethos-u55-128", optimise = "speed";
  DeviceMemories memories;
  std::size_t arena_limit = 0;
  std::vector<std::string> forbid, forbid_names, forbid_regions;
  int block = ethos_u::Options::kWholeClips;
  bool quiet = false;
  ModelFlags flags;
};

Result<ethos_u::Options> options_of(CompileCall& call) {
  ethos_u::Options options;
  RUNNEL_ASSIGN(options.program.accelerator, npu::find_accelerator(std::string_view(call.accelerator)));
  RUNNEL_TRY(call.memories.find(options.program.system, options.program.mode));
  if (call.optimise != "speed" && call.optimise != "size")
    return Status(Code::invalid_argument) << "--optimise \"" << call.optimise << "\", expected speed or size";
  options.program.optimise = call.optimise == "size" ? npu::Optimise::size : npu::Optimise::speed;
  options.program.most_scratch = call.arena_limit;
  options.forbidden_operators = call.forbid;
  options.forbidden_names = call.forbid_names;
  for (const std::string& text : call.forbid_regions) {
    const std::size_t at = text.find("..");
    if (at == std::string::npos || at == 0 || at + 2 == text.size())
      return Status(Code::invalid_argument) << "--forbid-region \"" << text << "\", expected NAME..NAME";
    options.forbidden_regions.emplace_back(text.substr(0, at), text.substr(at + 2));
  }
  options.block = call.block;
  return options;
}

// The placement of every node with the reason, and the copies at the borders of segments.
void tell(const ethos_u::CompiledGraph& compiled, bool blocks) {
  std::int64_t npu = 0, cpu = 0;
  for (const ethos_u::NodeReport& node : compiled.nodes) {
    (node.segment >= 0 ? npu : cpu) += node.multiply_adds;
    say(fmt::format(
        "{:<16} {:<36} {}", node.type, node.name.substr(0, 36),
        node.segment >= 0 ? fmt::format("npu, segment {}", node.segment) : "cpu: " + node.reason));
  }
  for (std::size_t i = 0; i < compiled.segments.size(); ++i) {
    const ethos_u::SegmentReport& s = compiled.segments[i];
    say(
        fmt::format("segment {}: {} operations, constants {}, scratch {}, fast scratch {} bytes; of {} bytes "
                    "{} are copied in, of {} {} out",
                    i, s.operations, s.constants, s.scratch, s.fast_scratch, s.border_in, s.copied_in,
                    s.border_out, s.copied_out));
    if (blocks)
      say(fmt::format("segment {}, block: {} bytes are copied in and {} out", i, s.block_copied_in,
                      s.block_copied_out));
  }
  if (compiled.block > 0)
    say(fmt::format("streamed in blocks of {} frames, or multiples of them", compiled.block));
  for (const std::string& note : compiled.notes) say(note);
  say(fmt::format("multiply-adds: {} on the NPU, {} on the CPU", npu, cpu));
}

// What the name of the output asks for.
enum class Format : std::uint8_t { rnl, tflite, pte };
Result<Format> format_of(const std::string& output) {
  const std::string extension = std::filesystem::path(output).extension().string();
  if (extension == ".tflite") return Format::tflite;
  if (extension == ".pte") return Format::pte;
  RUNNEL_TRY(check_output_name(output, {".rnl", ".tflite", ".pte"}));
  return Format::rnl;
}

// A file of another tool's format is read back, and must compute the same bytes.
Status check_reading(const compiler::Graph& written, Result<compiler::Graph> read) {
  constexpr int kCalls = 3;
  constexpr std::uint32_t kSeed = 1;
  RUNNEL_TRY(read.status());
  return compiler::check_same_results(written, *read, kCalls, kSeed, npu::simulating_operators());
}
Result<std::vector<std::byte>> other_file(const compiler::Graph& graph, Format format, bool quiet) {
  if (format == Format::tflite) {
    RUNNEL_ASSIGN(compiler::WrittenTflite written, compiler::write_tflite(graph));
    RUNNEL_TRY(check_reading(graph, compiler::import_tflite(written.bytes)));
    for (const std::string& note : written.notes) say(note);
    if (!quiet) say(fmt::format("arena: {} bytes", written.arena));
    return std::move(written.bytes);
  }
  RUNNEL_ASSIGN(compiler::WrittenPte written, compiler::write_pte(graph));
  const auto read = compiler::import_pte(written.bytes);
  RUNNEL_TRY(check_reading(graph, read.ok() ? Result<compiler::Graph>(read->graph) : read.status()));
  if (!quiet)
    say(fmt::format("planned memory: {} bytes, without the scratch memory of segments", written.memory));
  return std::move(written.bytes);
}

Status run_compile(CompileCall& call) {
  const Patience patience("compiling " + call.model);
  RUNNEL_ASSIGN(ethos_u::Options options, options_of(call));
  RUNNEL_ASSIGN(const Format format, format_of(call.output));
  options.borders_in_scratch = format != Format::rnl;
  if (format != Format::rnl && call.block != ethos_u::Options::kWholeClips)
    return Status(Code::unsupported)
           << call.output << ": --block keeps state from call to call, which only a .rnl file can say";
  RUNNEL_ASSIGN(const auto owned, load(call.model, call.flags));
  auto compiled = ethos_u::compile(compiler::graph_of(owned->model()), options);
  if (!compiled.ok()) return compiled.status().at(call.model);
  if (!call.quiet) tell(*compiled, call.block != ethos_u::Options::kWholeClips);
  if (format != Format::rnl) {
    const auto bytes = other_file(compiled->graph, format, call.quiet);
    if (!bytes.ok()) return bytes.status().at(call.output);
    if (const auto* const about = owned->model().pipeline();
        about != nullptr && ((about->front_end() != nullptr && about->front_end()->size() > 0) ||
                             (about->labels() != nullptr && about->labels()->size() > 0)))
      say(call.output + ": front end, decision and labels are not part of such a file");
    return write_file(call.output, *bytes);
  }
  compiler::WriteOptions write;
  write.blocks.clear();
  RUNNEL_ASSIGN(const compiler::WrittenModel written, compiler::write_model(compiled->graph, write));
  if (call.block != ethos_u::Options::kWholeClips && !written.refusals.empty()) {
    Status status(Code::unsupported);
    status << "the compiled model cannot be streamed";
    for (const std::string& refusal : written.refusals) status << "; " << refusal;
    return status.at(call.model);
  }
  return write_file(call.output, written.bytes);
}

}  // namespace

void add_npu_compile(Verb npu, int& exit_code) {
  auto call = std::make_shared<CompileCall>();
  Verb verb =
      npu.verb("compile",
               "Compile the operators of a quantized model that an Ethos-U can run; the rest stays on "
               "the CPU");
  verb.positional("MODEL", call->model, "Name or file of a model with int8 operators").required();
  verb.option(
          "-o,--output", call->output,
          "The model file to write: .rnl; .tflite with the operator ethos-u, for TensorFlow Lite Micro; .pte "
          "with the delegate EthosUBackend, for ExecuTorch")
      .required();
  verb.option("--accelerator", call->accelerator,
              "ethos-u55-32/64/128/256, ethos-u65-256/512, ethos-u85-128/256/512/1024/2048");
  verb.option("--memory-mode", call->memories.memory_mode,
              "Sram_Only, Shared_Sram, Dedicated_Sram, ...; recorded (default: Shared_Sram on U55, "
              "Dedicated_Sram on U65, Dedicated_Sram_384KB on U85)")
      .default_str("");
  verb.option(
          "--system", call->memories.system,
          "Clocks and memories, by name: Ethos_U55_High_End_Embedded, ..., or FILE[:NAME] with sections as "
          "in vela.ini; recorded, and blocks are chosen for it (default: that of the product)")
      .default_str("");
  verb.option("--optimise", call->optimise,
              "speed, or size: as little scratch memory as possible, weights read where they are");
  verb.option(
          "--arena-limit", call->arena_limit,
          "Bytes of scratch memory of a segment; what is quicker but larger is not taken (default: no limit)")
      .default_str("");
  verb.option("--forbid", call->forbid, "Operators that stay on the CPU: softmax,...")
      .delimiter(',')
      .default_str("");
  verb.option("--forbid-name", call->forbid_names,
              "Nodes that stay on the CPU, by name or by the name of what they compute")
      .default_str("");
  verb.option("--forbid-region", call->forbid_regions,
              "FROM..TO: nodes from one name to another, in the order of execution, stay on the CPU")
      .default_str("");
  verb.option("--block", call->block,
              "Compile the stream, too: this many source frames in each call, histories in the NPU's "
              "memory (0: as few as the model allows; default: whole clips only)")
      .default_str("")
      .range(0, 1 << 16);
  verb.flag("--quiet", call->quiet, "No report");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_compile(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
