#include "compiler/import/usage.h"

#include <algorithm>

#include "inference/model/usage.h"

namespace runnel::compiler {
namespace {

Result<UsageKind> parse_usage(const UsageOptions& options, UsageKind imported) {
  for (const UsageKind usage : {UsageKind::stream, UsageKind::step, UsageKind::window, UsageKind::whole}) {
    if (options.usage == name_of(usage)) return usage;
  }
  if (!options.usage.empty())
    return Status(Code::invalid_argument)
           << "usage \"" << options.usage << "\", expected stream, step, window or whole";
  if (options.step || options.context || options.look_ahead || options.output_frames ||
      !options.states.empty())
    return UsageKind::step;
  return options.window || options.hop ? UsageKind::window : imported;
}

Result<TensorId> find_port(const Graph& graph, const std::vector<TensorId>& ports, const std::string& name,
                           std::string_view what) {
  std::string known;
  for (const TensorId port : ports) {
    const std::string& label = graph.tensors[static_cast<std::size_t>(port)].name;
    if (label == name) return port;
    known += (known.empty() ? "" : ", ") + label;
  }
  return Status(Code::not_found) << "state: no " << what << " \"" << name << "\"; the model has " << known;
}

Status check_numbers(const UsageOptions& options, UsageKind usage) {
  const struct {
    std::string_view name;
    const std::optional<int>& value;
    bool allowed;
    int least;
  } numbers[] = {{"window", options.window, usage == UsageKind::window || usage == UsageKind::whole, 1},
                 {"hop", options.hop, usage == UsageKind::window, 1},
                 {"step", options.step, usage == UsageKind::step, 1},
                 {"context", options.context, usage == UsageKind::step, 0},
                 {"look-ahead", options.look_ahead, usage == UsageKind::step, 0},
                 {"output-frames", options.output_frames, usage == UsageKind::step, 1}};
  for (const auto& number : numbers) {
    if (!number.value) continue;
    if (!number.allowed)
      return Status(Code::invalid_argument)
             << number.name << ' ' << *number.value << " has no meaning for usage " << name_of(usage);
    if (*number.value < number.least)
      return Status(Code::invalid_argument)
             << number.name << ' ' << *number.value << ", expected at least " << number.least << " frames";
  }
  return {};
}

}  // namespace

Status apply_usage(const UsageOptions& options, Graph& graph) {
  if (!options.given()) return {};
  const UsageKind imported = graph.pipeline.usage;
  RUNNEL_ASSIGN(const UsageKind usage, parse_usage(options, imported));
  RUNNEL_TRY(check_numbers(options, usage));
  if (usage == UsageKind::stream && imported == UsageKind::step) {
    return Status(Code::invalid_argument,
                  "usage stream: the model keeps its state from run to run, expected usage step");
  }
  if (!options.states.empty() && usage != UsageKind::step)
    return Status(Code::invalid_argument) << "state has no meaning for usage " << name_of(usage);
  PipelineSettings& settings = graph.pipeline;
  settings.usage = usage;
  // Steps that the file describes keep what is not given.
  const PipelineSettings kept = usage == UsageKind::step && imported == usage ? settings : PipelineSettings();
  settings.window = options.window.value_or(0);
  settings.hop = options.hop.value_or(0);
  settings.step = options.step.value_or(kept.step);
  settings.context = options.context.value_or(kept.context);
  settings.look_ahead = options.look_ahead.value_or(kept.look_ahead);
  settings.output_frames = options.output_frames.value_or(kept.output_frames);
  settings.states.clear();
  if (options.states.empty()) settings.states = kept.states;
  for (const auto& [output, input] : options.states) {
    RUNNEL_ASSIGN(const TensorId from, find_port(graph, graph.outputs, output, "output"));
    RUNNEL_ASSIGN(const TensorId to, find_port(graph, graph.inputs, input, "input"));
    settings.states.emplace_back(from, to);
  }
  return {};
}

Result<WrittenModel> write_for_use(Graph& graph, const WriteOptions& options) {
  RUNNEL_ASSIGN(WrittenModel written, write_model(graph, options));
  if (!written.refusals.empty() && graph.pipeline.usage == UsageKind::stream) {
    graph.pipeline.usage = UsageKind::whole;
    const std::vector<std::string> refusals = std::move(written.refusals);
    RUNNEL_ASSIGN(written, write_model(graph, options));
    written.refusals = refusals;
  } else {
    written.refusals.clear();  // no stream was requested
  }
  // Models with several inputs may be clips of their own kind (`runnel infer`); an explicit request must
  // hold.
  const PipelineSettings& settings = graph.pipeline;
  const bool asked = settings.window != 0 || settings.hop != 0 || settings.step != 0 ||
                     settings.context != 0 || settings.look_ahead != 0 || settings.output_frames != 0 ||
                     !settings.states.empty();
  if (!asked) return written;
  RUNNEL_ASSIGN(const Model model, Model::open(written.bytes));
  RUNNEL_TRY(usage_of(model).status());
  return written;
}

}  // namespace runnel::compiler
