#include "pipeline/host/graph.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/host/small_file.h"
#include "pipeline/host/json.h"
#include "pipeline/host/recorders.h"
#include "pipeline/host/registry.h"
#include "pipeline/host/shared_sessions.h"
#include "pipeline/host/statistics/statistics_file.h"
#include "pipeline/host/steady_clock.h"

namespace runnel::pipeline {
namespace {

// `text` may be empty (a graph that was not written as text): then the message has no position.
Status at_position(const Status& status, std::string_view text, std::size_t position) {
  return text.empty() ? status : status.at(describe_position(text, position));
}

// Puts a node between stage `to` and its input. Indices of other nodes do not change.
void insert_before(GraphText& graph, std::size_t to, NodeText node) {
  node.input = graph.nodes[to].input;
  node.position = graph.nodes[to].position;
  graph.nodes[to].input = static_cast<int>(graph.nodes.size());
  graph.nodes.push_back(std::move(node));
}

NodeText node_for(const Fix& fix) {
  NodeText node;
  node.type = fix.kind == Fix::Kind::resample ? "resample" : "downmix";
  if (fix.kind == Fix::Kind::resample) node.parameters.push_back({"rate", std::to_string(fix.rate), 0});
  return node;
}

// More than any sequence of conversions needs.
constexpr int kMaxInsertions = 16;

}  // namespace

Graph::~Graph() {
  threads_.reset();  // they may still run nodes
  for (const Placed& placed : stages_) placed.stage.node->~Node();
  for (Node* end : ends_) end->~Node();
}

Status Graph::at_node(const Status& status, std::string_view source_text, std::size_t index) const {
  return at_position(status, source_text, text_.nodes[index].position);
}

// Topological order. The order of the text already is one, unless a chain refers to a later one.
Status Graph::order(std::string_view source_text) {
  const std::size_t count = text_.nodes.size();
  std::vector<bool> placed(count, false);
  const auto is_placed = [&](int input) { return input < 0 || placed[static_cast<std::size_t>(input)]; };
  // Inputs of joins may come late in the text; nodes that nothing depends on wait until then.
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t i = 0; i < count; ++i) {
      const NodeText& node = text_.nodes[i];
      const auto ready = [&](const InputText& more) { return is_placed(more.node); };
      if (placed[i] || !is_placed(node.input) ||
          !std::all_of(node.more_inputs.begin(), node.more_inputs.end(), ready))
        continue;
      placed[i] = progress = true;
      order_.push_back(static_cast<int>(i));
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!placed[i])
      return at_node(Status(Code::invalid_argument) << text_.nodes[i].type << " is part of a loop",
                     source_text, i);
  }
  return {};
}

Status Graph::make_node(std::size_t index, std::string_view source_text) {
  const NodeText& node = text_.nodes[index];
  Result<const NodeType*> found = find_node(options_.nodes, node.type, node.input >= 0);
  if (!found.ok()) return at_position(found.status(), source_text, node.position);
  const NodeType& type = **found;
  Placed placed;
  Stage& stage = placed.stage;
  stage.type = &type;
  stage.node = type.make(memory_);
  if (stage.node == nullptr) return out_of_memory(type.name);
  stage.label = labels_[index];
  placed.text = index;
  stages_.push_back(placed);
  if (!node.more_inputs.empty() && !type.joins) {
    return at_position(Status(Code::invalid_argument)
                           << type.name << " has two inputs: expected one; `join` puts streams together",
                       source_text, node.more_inputs[0].position);
  }
  for (const ParameterText& given : node.parameters) {
    const Result<const Parameter*> parameter = find_parameter(type, given.key);
    if (!parameter.ok()) return at_position(parameter.status(), source_text, given.position);
  }
  for (const Parameter& parameter : type.parameters) {
    const auto given = std::find_if(node.parameters.begin(), node.parameters.end(),
                                    [&](const ParameterText& text) { return text.key == parameter.name; });
    if (given == node.parameters.end()) {
      if (!parameter.required) continue;
      return at_position(Status(Code::invalid_argument)
                             << type.name << " needs " << parameter.name << "=, " << parameter.help,
                         source_text, node.position);
    }
    const Result<Value> value = parse_value(parameter, given->value);
    if (!value.ok()) return at_position(value.status().at(type.name), source_text, given->position);
    if (const Status status = parameter.set(parameter, *stage.node, *value); !status.ok()) {
      return at_position(status.at(type.name), source_text, given->position);
    }
  }
  return {};
}

Status Graph::make_nodes(std::string_view source_text) {
  // Nodes hold views of these.
  for (const NodeText& node : text_.nodes) labels_.push_back(node.name.empty() ? node.type : node.name);
  std::vector<int> stage_of(text_.nodes.size(), -1);
  for (const int index : order_) {
    const NodeText& node = text_.nodes[static_cast<std::size_t>(index)];
    RUNNEL_TRY(make_node(static_cast<std::size_t>(index), source_text));
    Placed& placed = stages_.back();
    if (node.input >= 0) placed.inputs.push_back(stage_of[static_cast<std::size_t>(node.input)]);
    for (const InputText& more : node.more_inputs)
      placed.inputs.push_back(stage_of[static_cast<std::size_t>(more.node)]);
    placed.stage.input = placed.inputs.empty() ? -1 : placed.inputs[0];
    stage_of[static_cast<std::size_t>(index)] = static_cast<int>(stages_.size()) - 1;
  }
  return check_ends(source_text);
}

// Every output is read, and nothing reads from a sink.
Status Graph::check_ends(std::string_view source_text) const {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const Stage& stage = stages_[i].stage;
    const auto reader = std::find_if(stages_.begin(), stages_.end(), [&](const Placed& placed) {
      return std::find(placed.inputs.begin(), placed.inputs.end(), static_cast<int>(i)) !=
             placed.inputs.end();
    });
    if (stage.type->output.kinds == 0 && reader != stages_.end()) {
      return Status(Code::invalid_argument)
             << stage.label << " is a sink: nothing comes out of it for " << reader->stage.label;
    }
    if (stage.type->output.kinds != 0 && reader == stages_.end()) {
      return at_node(Status(Code::invalid_argument)
                         << "the output of " << stage.type->name
                         << " goes nowhere: end the chain with a sink, such as `null`",
                     source_text, stages_[i].text);
    }
  }
  return {};
}

// The last stage of the stream from stage `from` to a join.
Status Graph::feed_join(int join, int from) {
  const Placed& source = stages_[static_cast<std::size_t>(from)];
  const Placed& target = stages_[static_cast<std::size_t>(join)];
  Section& section = sections_[source.section];
  section.other_join = section.other_join || (section.join >= 0 && section.join != join);
  section.join = join;
  Stage end;
  end.type = &JoinInput::type;
  end.node = JoinInput::type.make(memory_);
  if (end.node == nullptr) return out_of_memory(end.type->name);
  ends_.push_back(end.node);
  auto* input = static_cast<JoinInput*>(end.node);
  input->buffer = static_cast<const Join*>(target.stage.node)->buffer;
  end.label = target.stage.label;
  end.input = source.place;
  section.stages.push_back(end);
  section.texts.push_back(target.text);
  feeds_.push_back({join, source.section, input});
  return {};
}

// Splits the graph into sections at its joins.
Status Graph::make_sections(std::string_view source_text) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    Placed& placed = stages_[i];
    Stage local = placed.stage;
    if (local.type->joins || local.input < 0) {
      for (const int from : placed.inputs) RUNNEL_TRY(feed_join(static_cast<int>(i), from));
      placed.section = sections_.size();
      sections_.emplace_back();
      local.input = -1;
    } else {
      const Placed& input = stages_[static_cast<std::size_t>(local.input)];
      placed.section = input.section;
      local.input = input.place;
    }
    Section& section = sections_[placed.section];
    placed.place = static_cast<int>(section.stages.size());
    section.stages.push_back(local);
    section.texts.push_back(placed.text);
  }
  // All streams end in one: only the last section feeds no join.
  bool first = true;
  std::size_t main = sections_.size();
  for (std::size_t s = 0; s < sections_.size(); ++s) {
    const Section& section = sections_[s];
    if (section.other_join) {
      return at_node(Status(Code::unsupported)
                         << section.stages[0].label << " runs into two joins: expected one",
                     source_text, section.texts[0]);
    }
    if (section.join >= 0) continue;
    if (!first) {
      return at_node(Status(Code::invalid_argument)
                         << section.stages[0].type->name
                         << " begins a second stream: expected one source; put streams together with `join`",
                     source_text, section.texts[0]);
    }
    first = false;
    main = s;
  }
  if (main + 1 != sections_.size()) {
    return at_node(Status(Code::invalid_argument)
                       << sections_.back().stages[0].label << " begins a second stream",
                   source_text, sections_.back().texts[0]);
  }
  return {};
}

// `mismatched`: the section with the mismatch.
Status Graph::make_executors(Mismatch& mismatch, std::size_t& mismatched) {
  const ExecutorOptions how{.tick = options_.tick,
                            .on_gap = options_.on_gap,
                            .isa = options_.isa,
                            .models = options_.models,
                            .operators = options_.operators,
                            .ffts = &ffts_,
                            .stop = options_.stop,
                            .now = options_.time_nodes ? steady_nanoseconds : nullptr,
                            .shared = options_.shared,
                            .work = sections_.size() == 1 ? options_.shared : nullptr};
  for (mismatched = 0; mismatched < sections_.size(); ++mismatched) {
    Section& section = sections_[mismatched];
    if (section.stages[0].type->joins) {
      auto* join = static_cast<Join*>(section.stages[0].node);
      for (const Feed& feed : feeds_) {
        if (stages_[static_cast<std::size_t>(feed.join)].stage.node == join)
          RUNNEL_TRY(join->add_input(*sections_[feed.section].executor, *feed.end));
      }
    }
    RUNNEL_ASSIGN(section.executor, Executor::make(section.stages, how, memory_, &mismatch));
  }
  executor_ = sections_.back().executor;
  return {};
}

Result<std::unique_ptr<Graph>> Graph::build(std::string_view text, const GraphOptions& options) {
  if (options.threads < 1 || options.threads > kMaxGraphThreads) {
    return Status(Code::invalid_argument)
           << options.threads << " threads: expected 1 to " << kMaxGraphThreads;
  }
  if (options.threads > 1 && options.shared != nullptr)
    return Status(Code::invalid_argument, "a graph that shares models with others runs on one thread");
  RUNNEL_ASSIGN(GraphText parsed, parse_graph(text));
  if (options.amend) options.amend(parsed);
  RUNNEL_TRY(replace_statistics_files(parsed, text));
  std::vector<Insertion> inserted;
  for (;;) {
    std::unique_ptr<Graph> graph(new Graph(
        options.shared != nullptr ? options.shared->share(parsed) : std::make_shared<const GraphText>(parsed),
        options));
    if (options.shared != nullptr) graph->memory_.reserve(options.shared->bytes_of(graph->text_));
    if (options.shared == nullptr) graph->memory_.reserve(options.piece_bytes, true);
    RUNNEL_TRY(graph->order(text));
    RUNNEL_TRY(graph->make_nodes(text));
    RUNNEL_TRY(graph->make_sections(text));
    Mismatch mismatch;
    std::size_t section = 0;
    const Status made = graph->make_executors(mismatch, section);
    if (made.ok()) {
      graph->inserted_ = inserted;
      graph->find_live_source();
      graph->find_actions();
      RUNNEL_TRY(connect_recorders(*graph));
      RUNNEL_TRY(graph->make_threads());
      if (options.shared != nullptr) options.shared->took(graph->text_, graph->memory_.packed_bytes());
      for (const Insertion& one : inserted) {
        if (options.note) options.note(one.note);
      }
      return graph;
    }
    if (!options.insert_conversions || mismatch.fix.kind == Fix::Kind::none ||
        inserted.size() >= kMaxInsertions)
      return made;
    const std::size_t to = graph->sections_[section].texts[static_cast<std::size_t>(mismatch.stage)];
    NodeText node = node_for(mismatch.fix);
    std::string note = "inserted `" + node.type;
    for (const ParameterText& parameter : node.parameters)
      note += ' ' + parameter.key + '=' + parameter.value;
    inserted.push_back({node.type, note + "` before " + std::string(graph->labels_[to])});
    insert_before(parsed, to, std::move(node));
  }
}

Result<std::unique_ptr<Graph>> Graph::build(const GraphText& graph, const GraphOptions& options) {
  return build(to_text(graph), options);
}

Result<std::unique_ptr<Graph>> Graph::load(const std::string& path, const GraphOptions& options) {
  RUNNEL_ASSIGN(const std::string text, read_small_file(path));
  Result<std::unique_ptr<Graph>> graph = build(text, options);
  if (!graph.ok()) return graph.status().at(path);
  return graph;
}

StepTimes& Graph::times() const {
  if (!times_) times_ = std::make_unique<StepTimes>();
  return *times_;
}

void Graph::find_actions() {
  for (const Placed& placed : stages_) {
    if (auto* action = dynamic_cast<Action*>(placed.stage.node); action != nullptr)
      actions_.add(placed.stage.label, *action);
  }
}

// Waits until the sound given so far would have been played.
void Graph::keep_pace() {
  if (started_ == 0) started_ = steady_nanoseconds();
  const auto due = started_ + static_cast<std::int64_t>(1e9 * executor_->seconds() / options_.speed);
  constexpr std::int64_t kMax = 50'000'000;  // nanoseconds between two checks of the stop flag
  while (options_.stop == nullptr || !options_.stop->load(std::memory_order_relaxed)) {
    const std::int64_t left = due - steady_nanoseconds();
    if (left <= 0) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kMax)));
  }
}

Status Graph::step(bool& done) {
  if (Status status = actions_.start(); !status.ok()) {
    failed_ = true;
    return status;
  }
  const bool overloaded = live_ != nullptr && live_->overloaded();
  if (threads_ == nullptr || !threads_->on_several_threads()) relieve_models(overloaded);
  const auto start = std::chrono::steady_clock::now();
  // A device ends its stream itself, after the samples captured so far.
  const bool stopped =
      live_ == nullptr && options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed);
  const std::int64_t waited = live_ == nullptr ? 0 : live_->waited_nanoseconds();
  done = false;
  Status status = threads_ != nullptr ? threads_->step(stopped, overloaded, done)
                  : stopped           ? executor_->end()
                                      : executor_->step(done);
  done = done || stopped;
  const std::int64_t took =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count() -
      (live_ == nullptr ? 0 : live_->waited_nanoseconds() - waited);
  times().add(took);
  if (threads_ != nullptr) threads_->took(took);
  actions_.tell(options_.note);
  failed_ = failed_ || !status.ok();
  for (const auto& stepped : stepped_) stepped(*this);
  if (options_.speed > 0 && live_ == nullptr && !done && status.ok()) keep_pace();
  return status;
}

std::int64_t Graph::busy_nanoseconds(int index) const {
  const Placed& placed = stages_[static_cast<std::size_t>(index)];
  std::int64_t busy = executor_of(index).busy_nanoseconds(placed.place);
  if (threads_ != nullptr && placed.section + 1 == sections_.size())
    busy += threads_->busy_nanoseconds(placed.place);
  return index == 0 && live_ != nullptr ? busy - live_->waited_nanoseconds() : busy;
}

Status Graph::run() {
  for (bool done = false; !done;) RUNNEL_TRY(step(done));
  for (const Placed& placed : stages_) {
    const Text note = placed.stage.node->note();
    if (!note.view().empty() && options_.note) options_.note(note.view());
  }
  Status outcome = actions_.outcome();
  failed_ = !outcome.ok();
  return outcome;
}

void Graph::restart() noexcept {
  if (threads_ != nullptr) threads_->restart();
  for (const Section& section : sections_) section.executor->restart();
  failed_ = false;
}

std::string Graph::summary() const {
  const double seconds = executor_->seconds();
  const double busy = static_cast<double>(times().total_nanoseconds()) * 1e-9;
  std::string text = R"({"type":"summary","source":)" + json_string(executor_->format(0).source);
  text += ",\"audio_seconds\":" + json_number(seconds, 3);
  text += ",\"real_time_factor\":" + (seconds > 0 ? json_number(busy / seconds, 6) : "null");
  text += ",\"step_p50_us\":" + json_number(times().quantile(0.5), 1);
  text += ",\"step_p99_us\":" + json_number(times().quantile(0.99), 1);
  text += ",\"step_max_us\":" + json_number(times().largest(), 1);
  text += ",\"lost_samples\":" + std::to_string(executor_->lost());
  text += ",\"gaps\":" + std::to_string(executor_->gaps());
  text += ",\"failures\":" + std::to_string(failed_ ? 1 : 0);
  std::int64_t events = 0;
  for (const Section& section : sections_) events += section.executor->events();
  text += ",\"events\":" + std::to_string(events);
  if (threads_ != nullptr) text += ",\"threads\":" + std::to_string(threads_->most_threads());
  return text + live_summary() + actions_.summary() + "}";
}

}  // namespace runnel::pipeline
