// runnel inspect: prints the static properties of a model, a graph or a node.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/call/contained.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "compiler/espdl/package.h"
#include "compiler/import/file_access.h"
#include "features/fbank/fbank_parameters.h"
#include "features/microfrontend/microfrontend_options.h"
#include "inference/host/describe.h"
#include "inference/host/encrypted_model.h"
#include "inference/model/usage.h"
#include "pipeline/host/registry.h"
#include "services/describe/model_json.h"
#include "services/embed/partition/image.h"
#include "services/fleet/nodes/nodes.h"
#include "services/models/find.h"

namespace runnel::apps {
namespace {

struct InspectCall {
  std::string what;
  ModelFlags flags;
  std::int64_t block = 0;
  std::int64_t fast_bytes = -1;  // no limit
  bool param_copy = false, firmware = false;
  double frame_ms = 0;
  bool json = false, dot = false, mermaid = false;
  Containment containment;
};

std::string frames_text(double frames, double frame_ms) {
  return frame_ms > 0 ? fmt::format("{:g} frames ({:g} ms)", frames, frames * frame_ms)
                      : fmt::format("{:g} frames", frames);
}

std::string exponents_text(const TensorDescription& tensor) {
  if (tensor.exponents.empty()) return "";
  const auto [low, high] = std::minmax_element(tensor.exponents.begin(), tensor.exponents.end());
  return *low == *high ? fmt::format("2^{}", *low) : fmt::format("2^{}..{}", *low, *high);
}

const char* tier_text(Tier tier) { return tier == Tier::fast ? "fast" : "slow"; }

void print_memory(const ModelDescription& about) {
  const MemoryDescription& memory = about.memory;
  const Prepared::ConstantBytes& constants = memory.constants;
  fmt::print("\nmemory in bytes, tensors aligned to {}\n", memory.alignment);
  fmt::print(
      "  constants  {} in the file: {} read in place, {} packed by operators, {} copied to fast and {} to "
      "slow memory\n",
      about.constant_bytes(), constants.in_place, constants.packed, constants.copied_fast,
      constants.copied_slow);
  fmt::print("  operators  {} (packed weights, tables, settings)\n", memory.operators);
  fmt::print("  prepared   {} (operators, copies, plans)\n", memory.prepared);
  fmt::print("  arena      {} fast, {} slow; lower bound {}, ratio {:.3f}\n", memory.arena_fast,
             memory.arena_slow, memory.arena_bound, memory.arena_ratio());
  fmt::print("  scratch    {} {}\n", memory.scratch, tier_text(memory.scratch_tier));
  fmt::print("  state      {} {}, per {}\n", memory.state, tier_text(memory.state_tier),
             about.streamed ? "stream" : "session");
  fmt::print("  file       {}, weights section {}\n", about.file_bytes, about.weight_bytes);
}

std::string rate_text(const TensorDescription& tensor) {
  if (tensor.time_axis < 0 || tensor.up == 0) return "";
  return tensor.down == 1 ? std::to_string(tensor.up) : fmt::format("{}/{}", tensor.up, tensor.down);
}

// Text from a file without control characters.
std::string printable(std::string_view from_file) {
  Text text;
  text << from_file;
  return std::string(text.view());
}

void print_delegates(const ModelDescription& about) {
  for (const DelegateDescription& delegate : about.delegates) {
    fmt::print("delegate {} (op {}): {} inputs, {} outputs\n", printable(delegate.kind), delegate.op,
               delegate.inputs.size(), delegate.outputs.size());
    for (const auto& [name, bytes] : delegate.parts)
      fmt::print("  part  {} {} bytes\n", printable(name), bytes);
    for (const auto& [name, value] : delegate.attributes)
      fmt::print("  {} = {}\n", printable(name), printable(value));
  }
  if (!about.delegates.empty()) fmt::print("\n");
}

std::string usage_text(const ModelUsage& usage) {
  const std::string name(name_of(usage.kind));
  switch (usage.kind) {
    case UsageKind::stream:
      return name;
    case UsageKind::step: {
      std::string text =
          fmt::format("{} of {} new frames of {} values", name, usage.advance, usage.frame_values);
      if (usage.context > 0) text += fmt::format(", after {} of the past", usage.context);
      if (usage.look_ahead > 0) text += fmt::format(", with {} frames ahead", usage.look_ahead);
      if (usage.output_frames > 0) text += fmt::format(", giving {} frames", usage.output_frames);
      if (usage.pairs != nullptr && usage.pairs->size() > 0)
        text += fmt::format(", {} states from outputs to inputs", usage.pairs->size());
      return text;
    }
    case UsageKind::window:
      return fmt::format("{} of {} frames of {} values, every {}", name, usage.frames, usage.frame_values,
                         usage.advance);
    case UsageKind::whole:
      break;
  }
  return fmt::format("{} clip of {} frames of {} values", name, usage.frames, usage.frame_values);
}

// For a model that runs in steps, windows or clips; if the usage contradicts the model, only the run.
void print_run(const ModelDescription& about, const Model& model, double frame_ms) {
  const auto usage = usage_of(model);
  if (!usage.ok() || !usage->stepped()) {
    fmt::print("not streamed\n  {} multiply-adds per run\n", about.macs);
    return;
  }
  if (usage->kind == UsageKind::whole) {
    fmt::print("run once for each clip\n  {} multiply-adds per clip\n", about.macs);
    return;
  }
  const std::string_view run = runnel::name_of(usage->kind);
  fmt::print("run in {}s\n  first output after {}, then one every {}\n", run,
             frames_text(static_cast<double>(usage->frames - usage->context), frame_ms),
             frames_text(static_cast<double>(usage->advance), frame_ms));
  fmt::print("  {} multiply-adds per {}, {:.0f} per frame\n", about.macs, run,
             describe::frame_macs(about, *usage));
  fmt::print(
      "  {} bytes of state{}\n", about.memory.state,
      usage->pairs != nullptr && usage->pairs->size() > 0 ? " besides the pairs of inputs and outputs" : "");
}

// Which operators the plain loops that define the result compute.
void print_reference(const ModelDescription& about) {
  std::string indices;
  for (std::size_t i = 0; i < about.operators.size(); ++i) {
    if (about.operators[i].reference) indices += (indices.empty() ? "" : ", ") + std::to_string(i);
  }
  if (!indices.empty())
    fmt::print("on the reference, with no kernel of their own: operators {}\n\n", indices);
}

void print_table(const ModelDescription& about, const Model& model, double frame_ms) {
  fmt::print("{}\n", about.name.empty() ? "(no name)" : about.name);
  for (const int input : about.inputs) {
    const TensorDescription& tensor = about.tensors[static_cast<std::size_t>(input)];
    fmt::print("  input   {} {} {} {}\n", tensor.name, name_of(tensor.dtype), shape_text(tensor.shape),
               exponents_text(tensor));
  }
  for (const int output : about.outputs) {
    const TensorDescription& tensor = about.tensors[static_cast<std::size_t>(output)];
    fmt::print("  output  {} {} {} {}\n", tensor.name, name_of(tensor.dtype), shape_text(tensor.shape),
               exponents_text(tensor));
  }
  if (const fb::Pipeline* pipeline = model.pipeline(); pipeline != nullptr) {
    if (const auto usage = usage_of(model); usage.ok())
      fmt::print("  usage      {}\n", usage_text(*usage));
    else
      fmt::print("  usage      {}: {}\n", runnel::name_of(native(pipeline->usage())), usage.status().text());
    if (pipeline->front_end() != nullptr) fmt::print("  front end  {}\n", pipeline->front_end()->str());
    if (pipeline->decision() != nullptr) fmt::print("  decision   {}\n", pipeline->decision()->str());
    if (pipeline->labels() != nullptr && pipeline->labels()->size() > 0) {
      std::string labels;
      for (const auto* label : *pipeline->labels()) labels += " " + label->str();
      fmt::print("  labels    {}\n", labels);
    }
  }
  if (model.metadata() != nullptr && model.metadata()->entries() != nullptr) {
    for (const fb::Entry* entry : *model.metadata()->entries())
      fmt::print("  {} = {}\n", entry->key()->str(), entry->value()->str());
  }
  fmt::print("\n{:<3} {:<16} {:<28} {:<18} {:>8} {:>7} {:>5} {:>7} {:>6} {:>9}  {}\n", "op", "type", "output",
             "shape", "scale", "rate", "D", "context", "state", about.streamed ? "MAC/frame" : "MACs",
             "kernel");
  for (std::size_t i = 0; i < about.operators.size(); ++i) {
    const OperatorDescription& op = about.operators[i];
    const TensorDescription& y = about.tensors[static_cast<std::size_t>(op.outputs[0])];
    fmt::print("{:<3} {:<16} {:<28.28} {:<18} {:>8} {:>7} {:>5} {:>7} {:>6} {:>9.0f}  {}\n", i, op.type,
               y.name, shape_text(y.shape), exponents_text(y), rate_text(y),
               about.streamed ? std::to_string(y.delay) : "-",
               about.streamed ? std::to_string(op.context) : "-", y.state_bytes,
               about.streamed ? op.macs_per_frame : static_cast<double>(op.macs), op.kernel);
  }
  fmt::print("\n");
  print_reference(about);
  print_delegates(about);
  if (about.streamed) {
    std::size_t contexts = 0;
    for (const TensorDescription& tensor : about.tensors) contexts += tensor.state_bytes;
    fmt::print("streamed in blocks of {} (multiples of {})\n", about.block, about.block_multiple);
    fmt::print("  look-ahead {}, delay {}, first output after {}, receptive field {}\n",
               frames_text(about.lookahead, frame_ms),
               frames_text(static_cast<double>(about.delay), frame_ms),
               frames_text(static_cast<double>(about.cold_start), frame_ms),
               about.receptive_field > 0 ? frames_text(about.receptive_field, frame_ms) : "unbounded");
    fmt::print("  {:.0f} multiply-adds per frame\n", about.macs_per_frame);
    fmt::print("  {} bytes of context\n", contexts);
  } else {
    print_run(about, model, frame_ms);
  }
  print_memory(about);
}

// Boxes and arrows; the labels of arrows give the format.
struct Drawing {
  std::vector<std::string> boxes;
  struct Arrow {
    int from, to;
    std::string label;
  };
  std::vector<Arrow> arrows;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) out += letter == '"' ? std::string("'") : std::string(1, letter);
  return out;
}

void draw(const Drawing& drawing, bool dot) {
  std::puts(dot ? "digraph runnel {\n  node [shape=box];" : "flowchart TD");
  for (std::size_t i = 0; i < drawing.boxes.size(); ++i) {
    if (dot)
      fmt::print("  n{} [label=\"{}\"];\n", i, escaped(drawing.boxes[i]));
    else
      fmt::print("  n{}[\"{}\"]\n", i, escaped(drawing.boxes[i]));
  }
  for (const auto& arrow : drawing.arrows) {
    if (dot)
      fmt::print("  n{} -> n{} [label=\"{}\"];\n", arrow.from, arrow.to, escaped(arrow.label));
    else
      fmt::print("  n{} -->|\"{}\"| n{}\n", arrow.from, escaped(arrow.label), arrow.to);
  }
  if (dot) fmt::print("}}\n");
}

Drawing drawing_of(const ModelDescription& about, double frame_ms) {
  Drawing out;
  std::vector<int> made_by(about.tensors.size(), -1);
  for (const int input : about.inputs) {
    made_by[static_cast<std::size_t>(input)] = static_cast<int>(out.boxes.size());
    out.boxes.push_back(about.tensors[static_cast<std::size_t>(input)].name);
  }
  for (const OperatorDescription& op : about.operators) {
    const int box = static_cast<int>(out.boxes.size());
    out.boxes.push_back(op.context > 0 ? fmt::format("{} (context {})", op.type, op.context) : op.type);
    for (const int input : op.inputs) {
      if (input < 0 || made_by[static_cast<std::size_t>(input)] < 0) continue;
      const TensorDescription& tensor = about.tensors[static_cast<std::size_t>(input)];
      std::string label = shape_text(tensor.shape);
      if (about.streamed && tensor.time_axis >= 0) {
        label += fmt::format(" D={} rate={}", tensor.delay, rate_text(tensor));
        if (tensor.history > 0) label += fmt::format(", keeps {} = {} B", tensor.history, tensor.state_bytes);
      }
      out.arrows.push_back({made_by[static_cast<std::size_t>(input)], box, label});
    }
    for (const int output : op.outputs) made_by[static_cast<std::size_t>(output)] = box;
  }
  for (const int output : about.outputs) {
    const TensorDescription& tensor = about.tensors[static_cast<std::size_t>(output)];
    if (made_by[static_cast<std::size_t>(output)] < 0) continue;
    const int box = static_cast<int>(out.boxes.size());
    std::string text = tensor.name;
    if (about.streamed && output == about.outputs[0]) {
      text +=
          fmt::format(": look-ahead {}, cold start {}, state {} B", frames_text(about.lookahead, frame_ms),
                      frames_text(static_cast<double>(about.cold_start), frame_ms), about.memory.state);
    }
    out.boxes.push_back(text);
    out.arrows.push_back(
        {made_by[static_cast<std::size_t>(output)], box,
         about.streamed && tensor.time_axis >= 0
             ? fmt::format("{} D={} rate={}", shape_text(tensor.shape), tensor.delay, rate_text(tensor))
             : shape_text(tensor.shape)});
  }
  return out;
}

Status inspect_model(const InspectCall& call, const compiler::LoadOptions& load) {
  RUNNEL_ASSIGN(const auto owned, load_noted(call.what, load));
  PrepareOptions options;
  options.frames = call.block;
  options.param_copy = call.param_copy;
  if (call.fast_bytes >= 0) options.fast_bytes = static_cast<std::size_t>(call.fast_bytes);
  if (call.firmware) {
    options.isa = Isa::generic;
    options.slack = false;
    options.alignment = 16;
  }
  RUNNEL_ASSIGN(const ModelDescription about, describe_model(owned, options));
  const double frame_ms = call.frame_ms > 0 ? call.frame_ms : describe::frame_milliseconds(owned->model());
  if (call.json)
    fmt::print("{}\n", describe::model_json(about, owned->model(), frame_ms));
  else if (call.dot || call.mermaid)
    draw(drawing_of(about, frame_ms), call.dot);
  else
    print_table(about, owned->model(), frame_ms);
  return {};
}

// The members of a package.
Status list_members(const InspectCall& call, std::span<const std::byte> bytes) {
  if (call.dot || call.mermaid)
    return Status(Code::invalid_argument)
           << call.what << ": a package of models; --member NAME or INDEX says which to draw";
  const auto package = compiler::read_espdl_package(bytes);
  if (!package.ok()) return package.status().at(call.what);
  nlohmann::ordered_json json = {{"type", "package"},
                                 {"kind", package->kind},
                                 {"version", package->version},
                                 {"bytes", bytes.size()},
                                 {"members", nlohmann::ordered_json::array()}};
  if (!call.json)
    fmt::print("{} package{}{}\n{:<5} {:>10} {:<9} name\n", package->kind,
               package->version.empty() ? "" : " ", printable(package->version), "index", "bytes", "");
  for (std::size_t i = 0; i < package->members.size(); ++i) {
    const compiler::EspdlMember& member = package->members[i];
    json["members"].push_back({{"index", i},
                               {"name", member.name},
                               {"bytes", member.bytes.size()},
                               {"encrypted", member.encrypted}});
    if (!call.json)
      fmt::print("{:<5} {:>10} {:<9} {}\n", i, member.bytes.size(), member.encrypted ? "encrypted" : "",
                 printable(member.name));
  }
  // Names are bytes of a file: invalid UTF-8 is marked, not refused.
  if (call.json) fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return {};
}

// An image of a model for a partition of flash.
Status inspect_image(const InspectCall& call, std::span<const std::byte> bytes) {
  if (call.dot || call.mermaid)
    return Status(Code::invalid_argument)
           << call.what << ": an image of a model; the model itself can be drawn from its own file";
  const auto header = embedding::check_image(bytes);
  if (!header.ok()) return header.status().at(call.what);
  const bool encrypted = is_encrypted_model(bytes.subspan(embed::kImageHeaderBytes));
  if (call.json) {
    const nlohmann::ordered_json json = {{"type", "image"},
                                         {"name", header->name.data()},
                                         {"version", header->version},
                                         {"profile", crypto::hex(header->profile)},
                                         {"model_bytes", header->length},
                                         {"memory_bytes", header->memory_bytes},
                                         {"fast_bytes", header->fast_bytes},
                                         {"sha256", crypto::hex(header->digest)},
                                         {"signed", header->is_signed},
                                         {"encrypted", encrypted}};
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  fmt::print("{} version {}, image of a model\n", printable(header->name.data()), header->version);
  fmt::print("  profile    {}\n  model      {} bytes{}\n", crypto::hex(header->profile), header->length,
             encrypted ? ", encrypted" : "");
  fmt::print("  memory     {} bytes{}\n", header->memory_bytes,
             header->fast_bytes > 0 ? fmt::format(", {} of fast memory", header->fast_bytes) : "");
  fmt::print("  SHA-256    {}\n  signature  {}\n", crypto::hex(header->digest),
             header->is_signed ? "Ed25519, not checked here (runnel image verify)" : "none");
  return {};
}

// `keys`: null, or those that are trusted.
Status inspect_contained(const InspectCall& call, const compiler::LoadOptions& load,
                         const trust::Trust* keys) {
  if (call.flags.member.empty()) {
    RUNNEL_ASSIGN(const std::vector<std::byte> bytes, compiler::read_model_file(call.what));
    const bool image = embedding::is_image(bytes);
    if (keys != nullptr) {
      const auto found = image ? keys->check_image(bytes, call.what) : keys->check_file(call.what, bytes);
      if (!found.ok()) return image ? found.status().at(call.what) : found.status();
      say(call.what + ": signed as " + found->name + " version " + std::to_string(found->version) +
          " with the key " + found->key);
    }
    if (image) return inspect_image(call, bytes);
    if (compiler::is_espdl_package(bytes)) return list_members(call, bytes);
  }
  return inspect_model(call, load);
}

Status inspect_file(const InspectCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions load, load_options(call.flags));
  // Here: their files cannot be opened in the sandbox.
  RUNNEL_ASSIGN(const std::shared_ptr<const trust::Trust> keys, trusted(call.flags.trust));
  return contained(call.containment, {.model = call.what, .opened = {}, .doing = "inspecting"}, load,
                   [&](const compiler::LoadOptions& inside) -> Result<std::vector<std::byte>> {
                     RUNNEL_TRY(inspect_contained(call, inside, keys.get()));
                     return std::vector<std::byte>();
                   })
      .status();
}

Status inspect_graph(const InspectCall& call) {
  RUNNEL_ASSIGN(const compiler::LoadOptions model_options, load_options(call.flags));
  compiler::FileLoader loader(model_options);
  pipeline::GraphOptions options = graph_options(loader);
  auto built = call.what.ends_with(".rnlg") ? pipeline::Graph::load(call.what, options)
                                            : pipeline::Graph::build(call.what, options);
  for (const std::string& note : loader.take_notes()) say(note);
  if (!built.ok()) return built.status();
  const pipeline::Graph& graph = **built;
  Drawing drawing;
  nlohmann::ordered_json json = {{"type", "graph"}, {"memory_bytes", graph.memory_bytes()}};
  for (int i = 0; i < graph.size(); ++i) {
    const pipeline::Stage& stage = graph.stage(i);
    const bool has_output = stage.type->output.kinds != 0;
    const std::string format = has_output ? std::string(pipeline::describe(graph.format(i)).view()) : "";
    drawing.boxes.emplace_back(stage.type->name);
    const int input = stage.input;
    for (const int from : graph.inputs(i))
      drawing.arrows.push_back({from, i, std::string(pipeline::describe(graph.format(from)).view())});
    json["nodes"].push_back({{"type", stage.type->name},
                             {"label", stage.label},
                             {"input", input},
                             {"output", format},
                             {"buffer_frames", graph.capacity(i)}});
    if (graph.inputs(i).size() > 1) json["nodes"].back()["inputs"] = graph.inputs(i);
    if (!call.json && !call.dot && !call.mermaid)
      fmt::print(
          "{:<3} {:<28} {}\n", i, stage.label,
          has_output ? "gives " + format + ", buffer of " + std::to_string(graph.capacity(i)) : "ends here");
  }
  if (call.json)
    fmt::print("{}\n", json.dump());
  else if (call.dot || call.mermaid)
    draw(drawing, call.dot);
  else
    fmt::print("nodes and buffers: {} bytes\n", graph.memory_bytes());
  return {};
}

// The complete recipe of a preset; false when no preset has that name.
bool print_preset(const std::string& name) {
  const auto print = [&](std::string_view node, const auto* preset, auto parameters) {
    if (preset == nullptr) return false;
    fmt::print("{} preset={}: {}\n", node, preset->name, preset->help);
    if (!preset->before.empty()) fmt::print("  before: {}\n", preset->before);
    if (!preset->after.empty()) fmt::print("  after: {}\n", preset->after);
    for (const auto& parameter : parameters) {
      Text value;
      features::append_value(value, static_cast<const features::ParameterFacts&>(parameter),
                             parameter.get(preset->options));
      fmt::print("  {:<26}{}{}{}\n", parameter.name, value.view(), parameter.unit.empty() ? "" : " ",
                 parameter.unit);
    }
    return true;
  };
  return print("fbank", features::preset_named(features::presets(), name), features::parameters()) ||
         print("microfrontend", features::preset_named(features::microfrontend_presets(), name),
               features::microfrontend_parameters());
}

Status inspect(const InspectCall& call) {
  if (call.what.ends_with(".rnlg") || call.what.find('!') != std::string::npos) return inspect_graph(call);
  std::error_code ignored;
  if (std::filesystem::exists(call.what, ignored)) return inspect_file(call);
  bool any = false;
  for (const bool has_input : {false, true}) {
    const auto type = pipeline::find_node(fleet::nodes(), call.what, has_input);
    if (!type.ok()) continue;
    fmt::print("{}{}", any ? "\n" : "", pipeline::describe_node(**type));
    any = true;
  }
  if (any || print_preset(call.what)) return {};
  if (const auto model = models::find_model(call.what); model.ok() && *model != call.what) {
    InspectCall found = call;
    found.what = *model;
    return inspect_file(found);
  }
  const auto type = pipeline::find_node(fleet::nodes(), call.what, true);
  return Status(Code::not_found) << call.what << ": no such file, no model of that name, and as a node: "
                                 << type.status().text();
}

}  // namespace

void add_inspect(Verb verb, int& exit_code) {
  auto call = std::make_shared<InspectCall>();
  verb.positional("WHAT", call->what,
                  "Model file or name, image of a model, text graph or .rnlg file, or the name of a node")
      .required();
  verb.option("--block", call->block, "Source frames per block (0: the smallest)").non_negative();
  add_model_flags(verb, call->flags);
  verb.option("--frame-ms", call->frame_ms,
              "Length of a source frame in milliseconds, for latencies in time (default: frame_shift of "
              "the model's front end)")
      .non_negative();
  verb.option(
          "--fast-bytes", call->fast_bytes,
          "Fast memory that the model may use, in bytes; the rest goes to slow memory (default: no limit)")
      .non_negative();
  verb.flag("--param-copy", call->param_copy, "Copy constants that are read at run time into memory");
  verb.flag("--firmware", call->firmware,
            "Prepare as in firmware without vector units: least memory, tensors aligned to 16 bytes "
            "(default: as on this machine)");
  const Option json = verb.flag("--json", call->json, "One JSON object");
  const Option dot = verb.flag("--dot", call->dot, "A Graphviz drawing").excludes(json);
  verb.flag("--mermaid", call->mermaid, "A Mermaid drawing").excludes(json).excludes(dot);
  add_containment(verb, call->containment);
  verb.callback([call, &exit_code] {
    if (const Status status = inspect(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
