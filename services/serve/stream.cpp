#include "services/serve/stream.h"

#include <algorithm>
#include <utility>

#include "pipeline/host/text.h"
#include "pipeline/nodes/host/graph_state.h"

namespace runnel::serve {
namespace {

using pipeline::Kind;
using pipeline::Kinds;
using pipeline::NodeType;
using pipeline::parameter;

constexpr pipeline::Parameter kParameters[] = {
    parameter<&Samples::rate>("rate", "Hz", 1, 768000, "of the samples"),
    parameter<&Samples::channels>("channels", "", 1, 1024, "of the samples"),
};

constexpr pipeline::NodeState kOwnStates[] = {
    pipeline::saved_node<Samples>(),
    pipeline::stateless_node<Answers>(),
};

template <class N>
N* find(pipeline::Graph& graph) {
  for (int i = 0; i < graph.size(); ++i) {
    if (auto* const node = dynamic_cast<N*>(graph.stage(i).node); node != nullptr) return node;
  }
  return nullptr;
}

// Of hundreds of streams none finds its memory in the nearest caches; it comes while another one is stepped.
void fetch(std::span<const std::byte> memory) noexcept {
  constexpr std::size_t kLine = 64;
  for (std::size_t at = 0; at < memory.size(); at += kLine) __builtin_prefetch(memory.data() + at, 0, 2);
}

// The server provides source and sink.
Status check_text(std::string_view around, pipeline::NodeTable served) {
  RUNNEL_ASSIGN(const pipeline::GraphText text, pipeline::parse_graph(around));
  for (const pipeline::NodeText& node : text.nodes) {
    const auto named = [&](const NodeType* type) { return type->name == node.type; };
    if (std::any_of(served.begin(), served.end(), named)) continue;
    const auto all = pipeline::host_nodes();
    if (const auto known = std::find_if(all.begin(), all.end(), named); known != all.end()) {
      return Status(Code::unsupported)
             << pipeline::describe_position(around, node.position) << ": " << node.type
             << " has no place in a served graph: samples come from clients and events go to them; expected "
                "the part between them, "
             << "e.g. fbank ! infer model=a.rnl ! detect";
    }
  }
  return {};
}

}  // namespace

const NodeType Samples::type = {.name = "stream",
                                .help = "Samples of a client.",
                                .input = {},
                                .output = {static_cast<Kinds>(Kind::audio), "float32"},
                                .parameters = kParameters,
                                .make = pipeline::make_node<Samples>};

const NodeType Answers::type = {.name = "answers",
                                .help = "Events for a client.",
                                .input = {static_cast<Kinds>(Kind::events), "events"},
                                .output = {},
                                .parameters = {},
                                .make = pipeline::make_node<Answers>};

Status Samples::prepare(pipeline::NodeContext& context) noexcept {
  context.output.kind = Kind::audio;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(channels);
  context.output.clock.sample_rate = rate;
  context.output.source = "stream";
  context.max_output = context.max_input;
  return {};
}

Status Samples::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  const auto frame = static_cast<std::int64_t>(pipeline::bytes_of(code)) * channels;
  out.count = std::min(out.capacity, static_cast<std::int64_t>(waiting.size()) / frame);
  const auto bytes = static_cast<std::size_t>(out.count * frame);
  if (out.count > 0) out.lost = std::exchange(lost, 0);
  pipeline::to_float(code, waiting.data(), {out.as<float>(), static_cast<std::size_t>(out.count * channels)});
  waiting = waiting.subspan(bytes);
  return {};
}

Status Answers::prepare(pipeline::NodeContext& context) noexcept {
  format_ = context.input;
  call("stream");
  return {};
}

Status Answers::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  if (to == nullptr) return {};
  for (std::int64_t i = 0; i < in.count; ++i) *to += records_.event(in.as<pipeline::Event>()[i]) + '\n';
  return {};
}

std::vector<const NodeType*> served_nodes(pipeline::NodeTable nodes) {
  std::vector<const NodeType*> served;
  for (const NodeType* const type : nodes) {
    // By name, because programs have several classes of `infer`.
    if (type->name == pipeline::Infer::type.name)
      served.push_back(&pipeline::SharedInfer::type);
    else if (type->input.kinds != 0 && type->output.kinds != 0 && !type->joins)
      served.push_back(type);
  }
  return served;
}

Result<std::unique_ptr<Stream>> Stream::make(std::string_view around, const SampleFormat& format,
                                             pipeline::GraphOptions options) {
  RUNNEL_TRY(check_text(around, options.nodes));
  auto nodes = std::vector<const NodeType*>(options.nodes.begin(), options.nodes.end());
  nodes.insert(nodes.end(), {&Samples::type, &Answers::type});
  options.nodes = nodes;
  options.insert_conversions = true;
  options.note = {};
  options.stop = nullptr;
  options.tick = std::max<std::int64_t>(format.rate / 10, 1);
  auto stream = std::make_unique<Stream>();
  stream->format_ = format;
  stream->tick_ = options.tick;
  const std::string text = "stream rate=" + std::to_string(format.rate) +
                           " channels=" + std::to_string(format.channels) + " ! " + std::string(around) +
                           " ! answers";
  RUNNEL_ASSIGN(stream->graph_, pipeline::Graph::build(text, options));
  pipeline::Graph& graph = *stream->graph_;
  stream->executor_ = &graph.executor();
  stream->samples_ = find<Samples>(graph);
  stream->answers_ = find<Answers>(graph);
  stream->samples_->code = format.code;
  for (int i = 0; i < graph.size(); ++i) {
    auto* const node = dynamic_cast<pipeline::SharedInfer*>(graph.stage(i).node);
    if (node == nullptr) continue;
    RUNNEL_TRY(node->share_queue(i));
    stream->models_.push_back({node, i});
  }
  return stream;
}

void Stream::begin(std::string_view source, std::string* to, std::int64_t first) {
  samples_->waiting = {};
  samples_->lost = 0;
  answers_->to = to;
  answers_->call(source);
  answers_->begin_at(first, format_.rate);
  executor_->restart();
}

Status Stream::saveable() const { return pipeline::check_saveable(*graph_, kOwnStates); }

std::size_t Stream::saved_bytes() {
  return sealed_bytes([&](StateArchive& archive) { pipeline::graph_state(*graph_, kOwnStates, archive); });
}

Status Stream::save(std::span<std::byte> to, const Seal& seal) {
  return save_sealed(to, seal,
                     [&](StateArchive& archive) { pipeline::graph_state(*graph_, kOwnStates, archive); });
}

Status Stream::restore(std::span<const std::byte> from, const Seal& seal) {
  samples_->waiting = {};
  bool changed = false;
  const Status status = restore_sealed(
      from, seal, [&](StateArchive& archive) { pipeline::graph_state(*graph_, kOwnStates, archive); },
      changed);
  if (!status.ok() && changed) {
    samples_->lost = 0;
    executor_->restart();
  }
  return status;
}

Together::Together() {
  due_.reserve(kAtOnce);
  waiting_.reserve(kAtOnce);
  loaded_.reserve(kAtOnce);
}

void Together::step(std::span<Turn> turns) noexcept {
  for (std::size_t first = 0; first < turns.size(); first += kAtOnce)
    step_some(turns.subspan(first, std::min(kAtOnce, turns.size() - first)));
}

void Together::step_some(std::span<Turn> turns) noexcept {
  std::size_t models = 0;
  std::size_t seat = 0;
  for (Turn& turn : turns) {
    if (seat + 1 < turns.size()) fetch(turns[seat + 1].stream->graph_->memory_piece());
    for (const Stream::Model& model : turn.stream->models_) {
      model.node->sit(seat);
      fetch(model.node->state());
    }
    ++seat;
    bool done = false;
    // A status is large: do not copy one that is ok.
    if (const Status status = turn.stream->executor_->step(done); !status.ok()) turn.status = status;
    models = std::max(models, turn.stream->models_.size());
  }
  for (std::size_t model = 0; model < models; ++model) run_models(turns, model);
}

void Together::run_models(std::span<Turn> turns, std::size_t model) noexcept {
  waiting_.clear();
  for (Turn& turn : turns) {
    if (!turn.status.ok() || model >= turn.stream->models_.size()) continue;
    pipeline::SharedInfer& node = *turn.stream->models_[model].node;
    if (node.due()) waiting_.push_back(&node);
  }
  while (!waiting_.empty()) {
    // Streams of one graph have the same model here; those of another group, which also runs blocks of
    // another size, wait for a later round.
    SessionGroup& group = waiting_.front()->group();
    due_.clear();
    loaded_.clear();
    for (pipeline::SharedInfer* const node : waiting_) {
      if (&node->group() != &group) continue;
      due_.push_back(node->load(due_.size()));
      loaded_.push_back(node);
    }
    group.run(due_);
    for (pipeline::SharedInfer* const node : loaded_) node->collect();
    std::erase_if(waiting_, [](const pipeline::SharedInfer* node) { return !node->due(); });
  }
  for (Turn& turn : turns) {
    if (!turn.status.ok() || model >= turn.stream->models_.size()) continue;
    const Stream::Model& at = turn.stream->models_[model];
    if (!at.node->has_results()) continue;
    if (const Status status = turn.stream->executor_->deliver(at.stage); !status.ok()) turn.status = status;
  }
}

}  // namespace runnel::serve
