#include "services/convert/import_model.h"

#include <fmt/format.h>

#include <utility>

#include "base/host/output_file.h"
#include "compiler/passes/powers_of_two.h"
#include "decoding/host/tokens_file.h"
#include "inference/host/encrypted_model.h"
#include "pipeline/host/text.h"
#include "pipeline/nodes/host/stored_text.h"
#include "services/calibrate/calibrated_model.h"
#include "services/calibrate/model_front_end.h"

namespace runnel::convert {

using calibrate::read_label_names;
using calibrate::store_front_end;
using calibrate::store_labels;
namespace {

using Say = std::function<void(std::string_view)>;

// Rounds scales to powers of two, and reports the effect on the results.
Status fold_scales(const std::string& input, const Say& say, compiler::Graph& graph) {
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

}  // namespace

Status read_names(ImportRequest& request) {
  if (!request.labels.empty() && !request.names_of_labels) {
    RUNNEL_ASSIGN(request.names_of_labels, read_label_names(request.labels));
  }
  if (!request.tokens.empty() && !request.names_of_tokens) {
    RUNNEL_ASSIGN(decoding::TokenList tokens, decoding::read_tokens(request.tokens));
    request.names_of_tokens = std::move(tokens.pieces);
  }
  return {};
}

Result<ImportedModel> make_model(ImportRequest call, const compiler::LoadOptions& options) {
  const Say say = call.say ? std::move(call.say) : [](std::string_view) {};
  if (call.encrypt && !options.key)
    return Status(Code::invalid_argument)
           << "--encrypt needs a key: --key-file FILE, or the environment variable RUNNEL_KEY";
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(call.input, options));
  for (const std::string& note : imported.notes) say(call.input + ": " + note);
  compiler::Graph& graph = imported.graph;
  if (call.pow2) RUNNEL_TRY(fold_scales(call.input, say, graph));
  if (!call.name.empty()) graph.name = call.name;
  // Do not store text graphs with errors in a model.
  if (!call.decision.empty()) {
    if (const auto parsed = pipeline::parse_graph(call.decision); !parsed.ok()) return parsed.status();
    RUNNEL_TRY(pipeline::check_stored_text(call.decision, "decision"));
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
  RUNNEL_TRY(read_names(call));
  if (call.names_of_labels) RUNNEL_TRY(store_labels(call.labels, std::move(*call.names_of_labels), graph));
  if (!call.label_names.empty()) RUNNEL_TRY(store_labels("labels", std::move(call.label_names), graph));
  if (call.names_of_tokens) RUNNEL_TRY(store_labels(call.tokens, std::move(*call.names_of_tokens), graph));
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
  return ImportedModel{std::move(bytes), graph.nodes.size()};
}

Status write_model(const ImportRequest& request, const ImportedModel& model) {
  RUNNEL_TRY(write_file(request.output, model.bytes));
  if (request.say)
    request.say(fmt::format("{}: {} operators, {} bytes{}", request.output, model.operators,
                            model.bytes.size(), request.encrypt ? ", encrypted" : ""));
  return {};
}

Status import_model(ImportRequest request, const compiler::LoadOptions& options) {
  RUNNEL_ASSIGN(const ImportedModel model, make_model(request, options));
  return write_model(request, model);
}

}  // namespace runnel::convert
