// runnel import: converts model files of other tools to .rnl files.
#include <fmt/format.h>

#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "compiler/import/usage.h"
#include "compiler/passes/powers_of_two.h"
#include "decoding/host/tokens_file.h"
#include "inference/host/encrypted_model.h"
#include "pipeline/host/text.h"
#include "services/calibrate/calibrated_model.h"
#include "services/calibrate/model_front_end.h"

namespace runnel::apps {

using calibrate::read_label_names;
using calibrate::store_front_end;
using calibrate::store_labels;
namespace {

struct ImportCall {
  std::string input, output, name, front_end, decision, labels, tokens;
  int sample_rate = 0;
  compiler::UsageOptions usage;
  std::vector<std::string> states;
  std::vector<int> blocks;
  bool strip_names = false, encrypt = false, pow2 = false;
  ModelFlags flags;
};

// Rounds scales to powers of two, and reports the effect on the results.
Status fold_scales(const std::string& input, compiler::Graph& graph) {
  constexpr int kCalls = 16;
  constexpr std::uint32_t kSeed = 1;
  compiler::Graph folded = graph;
  if (const Status status = compiler::to_powers_of_two(folded); !status.ok()) return status.at(input);
  auto differences = compiler::compare(graph, folded, kCalls, kSeed);
  if (!differences.ok()) return differences.status().at(input);
  const std::string over = graph.vectors.empty()
                               ? fmt::format("{} calls with random inputs (seed {})", kCalls, kSeed)
                               : fmt::format("{} test vectors", graph.vectors.size());
  for (std::size_t i = 0; i < differences->size(); ++i) {
    const compiler::Difference& d = (*differences)[i];
    say(
        fmt::format("{}: power-of-two scales: output \"{}\" differs by at most {:.6g}, {:.6g} RMS, of {:.6g} "
                    "RMS, over {}",
                    input, graph.tensors[static_cast<std::size_t>(graph.outputs[i])].name, d.largest, d.rms,
                    d.signal_rms, over));
  }
  graph = std::move(folded);
  return {};
}

Status run_import(const ImportCall& call) {
  RUNNEL_TRY(check_output_name(call.output, {".rnl"}));
  RUNNEL_ASSIGN(const compiler::LoadOptions options, load_options(call.flags));
  if (call.encrypt && !options.key)
    return Status(Code::invalid_argument)
           << "--encrypt needs a key: --key-file FILE, or the environment variable RUNNEL_KEY";
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(call.input, options));
  for (const std::string& note : imported.notes) say(call.input + ": " + note);
  compiler::Graph& graph = imported.graph;
  if (call.pow2) RUNNEL_TRY(fold_scales(call.input, graph));
  if (!call.name.empty()) graph.name = call.name;
  // Do not store text graphs with errors in a model.
  if (!call.decision.empty()) {
    if (const auto parsed = pipeline::parse_graph(call.decision); !parsed.ok()) return parsed.status();
    graph.pipeline.decision = call.decision;
  }
  if (!call.front_end.empty())
    RUNNEL_TRY(store_front_end(call.front_end, call.sample_rate, graph));
  else if (call.sample_rate > 0 && !graph.pipeline.front_end.empty())
    graph.pipeline.sample_rate = call.sample_rate;
  compiler::UsageOptions usage = call.usage;
  for (const std::string& text : call.states) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos)
      return Status(Code::invalid_argument) << "--state \"" << text << "\", expected OUTPUT=INPUT";
    usage.states.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  RUNNEL_TRY(compiler::apply_usage(usage, graph));
  if (!call.labels.empty()) {
    RUNNEL_ASSIGN(std::vector<std::string> names, read_label_names(call.labels));
    RUNNEL_TRY(store_labels(call.labels, std::move(names), graph));
  }
  if (!call.tokens.empty()) {
    RUNNEL_ASSIGN(decoding::TokenList tokens, decoding::read_tokens(call.tokens));
    RUNNEL_TRY(store_labels(call.tokens, std::move(tokens.pieces), graph));
  }
  compiler::WriteOptions write;
  write.strip_names = call.strip_names;
  write.stream = options.stream;
  if (!call.blocks.empty()) write.blocks = call.blocks;
  const bool wants_stream = call.usage.usage == "stream";
  auto written = compiler::write_for_use(graph, write);
  if (!written.ok()) return written.status().at(call.input);
  for (const std::string& note : written->notes) say(call.input + ": " + note);
  if (!written->refusals.empty()) {
    for (const std::string& refusal : written->refusals) say(call.input + ": cannot be streamed: " + refusal);
    if (wants_stream)
      return Status(Code::unsupported) << call.input << ": usage stream, but the model cannot be streamed";
    say(call.input + ": written for whole clips only");
  }
  const UsageKind used = graph.pipeline.usage;
  if (used == UsageKind::step) say(call.input + ": written for steps: it keeps its state from run to run");
  std::vector<std::byte> bytes = std::move(written->bytes);
  if (call.encrypt) {
    RUNNEL_ASSIGN(bytes, encrypt_model(bytes, *options.key));
  }
  RUNNEL_TRY(write_file(call.output, bytes));
  say(fmt::format("{}: {} operators, {} bytes{}", call.output, graph.nodes.size(), bytes.size(),
                  call.encrypt ? ", encrypted" : ""));
  return {};
}

}  // namespace

void add_import(Verb verb, int& exit_code) {
  auto call = std::make_shared<ImportCall>();
  verb.positional("INPUT", call->input, "Model file").required();
  verb.option("-o,--output", call->output, "The .rnl file to write").required();
  add_model_flags(verb, call->flags);
  verb.flag("--pow2", call->pow2,
            "Fold multipliers into power-of-two scales (shifts only) and report the change of the results");
  verb.flag("--encrypt", call->encrypt,
            "Encrypt the .rnl file (AES-128-GCM) with the key of --key-file or RUNNEL_KEY");
  verb.option("--name", call->name, "Name of the model (default: the one in the file, or the file's name)");
  verb.option("--front-end,--frontend", call->front_end,
              "Graph text from samples to the model's input, e.g. \"fbank preset=kaldi "
              "num_mel_bins=40\"; stored with every parameter");
  verb.option("--sample-rate", call->sample_rate,
              "Sample rate in Hz of the sound (default: the front end's)");
  verb.option("--decision", call->decision, "Graph text after the model, e.g. \"detect threshold=0.6\"");
  const Option labels =
      verb.option("--labels", call->labels, "File with the names of the output's channels, one per line");
  verb.option("--tokens", call->tokens,
              "File with the tokens of a speech recogniser, stored as the labels: tokens.txt or a "
              "sentencepiece .vocab (without its scores)")
      .excludes(labels);
  verb.option("--usage", call->usage.usage,
              "How the model takes a stream (default: as in the file; else stream if possible, or whole)")
      .choices({"stream", "step", "window", "whole"});
  verb.option("--window", call->usage.window,
              "Frames per clip (usage window, whole; default: the length of the input)")
      .default_str("");
  verb.option("--hop", call->usage.hop, "Frames from one window to the next (default: the window)")
      .default_str("");
  verb.option("--step", call->usage.step,
              "New frames per run (usage step; default: the length of the input, without the context)")
      .default_str("");
  verb.option("--context", call->usage.context, "Frames of context before each step (default: 0)")
      .default_str("");
  verb.option("--look-ahead", call->usage.look_ahead,
              "Frames that each step sees after its own; the first run waits for them (default: 0)")
      .default_str("");
  verb.option("--output-frames", call->usage.output_frames,
              "Frames that a step gives, which divide those it takes (default: as many, where an output has "
              "them; else all its values are one frame)")
      .default_str("");
  verb.option("--state", call->states,
              "OUTPUT=INPUT: state that goes from run to run, zeros at the start (usage step)")
      .default_str("");
  verb.option("--block", call->blocks,
              "Source frames per block whose exact memory the file records; may be repeated (default: 1)")
      .positive()
      .default_str("");
  verb.flag("--strip-names", call->strip_names, "Leave out the names of tensors and operators");
  verb.callback([call, &exit_code] {
    if (const Status status = run_import(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
