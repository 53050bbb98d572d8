// runnel import: model files of other tools become .rnl files.
#include <fmt/format.h>

#include <fstream>

#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "compiler/writer.h"
#include "inference/host/encrypted_model.h"
#include "pipeline/host/text.h"

namespace runnel::apps {
namespace {

struct ImportCall {
  std::string input, output, name, front_end, decision, labels;
  int sample_rate = 16000;
  std::vector<int> blocks;
  bool strip_names = false, encrypt = false;
  ModelFlags flags;
};

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Status(Code::not_found) << path << ": cannot be opened";
  std::vector<std::string> labels;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) labels.push_back(line);
  }
  if (labels.empty()) return Status(Code::invalid_data) << path << ": no labels, expected one per line";
  return labels;
}

Status run_import(const ImportCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions options, load_options(call.flags));
  if (call.encrypt && !options.key) return Status(Code::invalid_argument) << "--encrypt needs a key: --key-file FILE, or the environment variable RUNNEL_KEY";
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(call.input, options));
  for (const std::string& note : imported.notes) say(call.input + ": " + note);
  compiler::Graph& graph = imported.graph;
  if (!call.name.empty()) graph.name = call.name;
  // A text graph that cannot be parsed must not get into a model.
  for (const std::string* text : {&call.front_end, &call.decision}) {
    if (text->empty()) continue;
    if (const auto parsed = pipeline::parse_graph(*text); !parsed.ok()) return parsed.status();
  }
  graph.pipeline.front_end = call.front_end;
  graph.pipeline.decision = call.decision;
  graph.pipeline.sample_rate = call.front_end.empty() ? 0 : call.sample_rate;
  if (!call.labels.empty()) {
    RUNNEL_ASSIGN(graph.pipeline.labels, read_labels(call.labels));
    const auto& shape = graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape;
    const std::size_t channels = shape.empty() ? 0 : static_cast<std::size_t>(shape.back());
    if (graph.pipeline.labels.size() != channels) {
      return Status(Code::mismatch) << call.labels << ": " << graph.pipeline.labels.size() << " labels for an output of " << channels << " channels";
    }
  }
  compiler::WriteOptions write;
  write.strip_names = call.strip_names;
  write.stream = options.stream;
  if (!call.blocks.empty()) write.blocks = call.blocks;
  auto written = compiler::write_model(graph, write);
  if (!written.ok()) return written.status().at(call.input);
  for (const std::string& note : written->notes) say(call.input + ": " + note);
  if (!written->refusals.empty()) {
    const bool stepped = graph.pipeline.usage == fb::Usage::step;
    if (!stepped) graph.pipeline.usage = fb::Usage::whole;
    RUNNEL_ASSIGN(written, compiler::write_model(graph, write));
    for (const std::string& refusal : written->refusals) say(call.input + ": cannot be streamed: " + refusal);
    say(call.input + (stepped ? ": written for steps: it keeps its caches from call to call" : ": written for whole clips only"));
  }
  std::vector<std::byte> bytes = std::move(written->bytes);
  if (call.encrypt) {
    RUNNEL_ASSIGN(bytes, encrypt_model(bytes, *options.key));
  }
  RUNNEL_TRY(write_file(call.output, bytes));
  say(fmt::format("{}: {} operators, {} bytes{}", call.output, graph.nodes.size(), bytes.size(), call.encrypt ? ", encrypted" : ""));
  return {};
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  auto call = std::make_shared<ImportCall>();
  CLI::App* verb = app.add_subcommand("import", "Make a .rnl file of a model of another tool (.espdl, .onnx)");
  verb->add_option("INPUT", call->input, "Model file")->required();
  verb->add_option("-o,--output", call->output, "The .rnl file to write")->required();
  add_model_flags(verb, call->flags);
  verb->add_flag("--encrypt", call->encrypt, "Encrypt the .rnl file (AES-128-GCM) with the key of --key-file or RUNNEL_KEY");
  verb->add_option("--name", call->name, "Name of the model (default: the one in the file, or the file's name)");
  verb->add_option("--front-end", call->front_end, "Graph text from samples to the model's input, e.g. \"fbank preset=kaldi num_mel_bins=40\"");
  verb->add_option("--sample-rate", call->sample_rate, "Sample rate in Hz that the front end wants");
  verb->add_option("--decision", call->decision, "Graph text behind the model, e.g. \"detect threshold=0.6\"");
  verb->add_option("--labels", call->labels, "File with the names of the output's channels, one per line");
  verb->add_option("--block", call->blocks, "Source frames per block whose exact memory the file records; may be given several times (default: 1)")->check(CLI::PositiveNumber);
  verb->add_flag("--strip-names", call->strip_names, "Leave out the names of tensors and operators");
  verb->callback([call, &exit_code] {
    if (const Status status = run_import(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
