#include "library/nodes.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "library/models.h"
#include "pipeline/nodes/host/nodes.h"
#include "pipeline/nodes/nodes.h"
#include "pipeline/nodes/null.h"

namespace runnel::library {

using pipeline::Kind;
using pipeline::Kinds;
using pipeline::NodeType;
using pipeline::parameter;

namespace {

constexpr pipeline::Parameter kSamples[] = {
    parameter<&PushedSamples::rate>("rate", "Hz", 1, 768000, "of the samples"),
    parameter<&PushedSamples::channels>("channels", "", 1, 1024, "of the samples"),
};
constexpr pipeline::Parameter kObserved[] = {
    parameter<&FrameSink::stage>("stage", "", 0, 1, "features or output"),
};

}  // namespace

const NodeType PushedSamples::type = {.name = "samples",
                                      .help = "Samples of the application.",
                                      .input = {},
                                      .output = {static_cast<Kinds>(Kind::audio), "float32"},
                                      .parameters = kSamples,
                                      .make = pipeline::make_node<PushedSamples>};
const NodeType DecisionSink::type = {.name = "decisions",
                                     .help = "Decisions for the application.",
                                     .input = {static_cast<Kinds>(Kind::events), "events"},
                                     .output = {},
                                     .parameters = {},
                                     .make = pipeline::make_node<DecisionSink>};
const NodeType FrameSink::type = {.name = "observed",
                                  .help = "Frames for the application.",
                                  .input = {Kind::frames | Kind::audio, "frames"},
                                  .output = {},
                                  .parameters = kObserved,
                                  .make = pipeline::make_node<FrameSink>};
const NodeType SharedModelInfer::type = [] {
  NodeType copy = pipeline::Infer::type;
  copy.make = pipeline::make_node<SharedModelInfer>;
  return copy;
}();

Status PushedSamples::prepare(pipeline::NodeContext& context) noexcept {
  context.output.kind = Kind::audio;
  context.output.dtype = DType::float32;
  context.output.channels = static_cast<std::int32_t>(channels);
  context.output.clock.sample_rate = rate;
  context.output.source = "samples";
  context.max_output = context.max_input;
  return {};
}

void PushedSamples::give(const void* samples, std::size_t frames, DType dtype) noexcept {
  next_ = static_cast<const std::byte*>(samples);
  pending_ = frames;
  given_ = dtype;
}

void PushedSamples::forget() noexcept {
  next_ = nullptr;
  pending_ = 0;
  lost_ = 0;
  given_ = DType::none;
}

Status PushedSamples::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  out.count = std::min(out.capacity, static_cast<std::int64_t>(pending_));
  const std::size_t values = static_cast<std::size_t>(out.count) * static_cast<std::size_t>(channels),
                    bytes = values * size_of(given_);
  if (given_ == DType::int16) {
    for (std::size_t i = 0; i < values; ++i) {
      std::int16_t value = 0;
      std::memcpy(&value, next_ + i * sizeof value, sizeof value);
      out.as<float>()[i] = static_cast<float>(value) * (1.0F / 32768);
    }
  } else if (bytes > 0) {
    std::memcpy(out.data, next_, bytes);
  }
  pending_ -= static_cast<std::size_t>(out.count);
  // The address of what is consumed is no state.
  next_ = pending_ == 0 ? nullptr : next_ + bytes;
  out.lost = lost_;
  lost_ = 0;
  return {};
}

Status DecisionSink::prepare(pipeline::NodeContext& context) noexcept {
  format_ = context.input;
  return {};
}

Status DecisionSink::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  if (to == nullptr) return {};
  try {
    for (std::int64_t i = 0; i < in.count; ++i) to->add(in.as<pipeline::Event>()[i]);
  } catch (const std::bad_alloc&) {
    return pipeline::out_of_memory("decisions that wait");
  }
  return {};
}

Status FrameSink::prepare(pipeline::NodeContext& context) noexcept {
  format_ = context.input;
  return {};
}

Status FrameSink::process(const pipeline::Block& in, pipeline::Output&) noexcept {
  if (to == nullptr || in.count == 0) return {};
  try {
    to->add(static_cast<runnel_stage>(stage), format_, in);
  } catch (const std::bad_alloc&) {
    return pipeline::out_of_memory("frames that wait");
  }
  return {};
}

Result<const Prepared*> SharedModelInfer::make_prepared(pipeline::NodeContext& context, const Model& loaded,
                                                        const PrepareOptions& options) noexcept {
  try {
    return static_cast<Models*>(context.models)->prepare(loaded, context.operators, options);
  } catch (const std::bad_alloc&) {
    return pipeline::out_of_memory("a prepared model");
  }
}

PushedSamples& attach(pipeline::Graph& graph, Outbox& outbox) {
  for (int i = 1; i < graph.size(); ++i) {
    const pipeline::Stage& stage = graph.stage(i);
    if (stage.type == &DecisionSink::type) {
      auto& sink = static_cast<DecisionSink&>(*stage.node);
      sink.to = &outbox;
      outbox.decisions_are(sink.format());
    } else if (stage.type == &FrameSink::type) {
      static_cast<FrameSink&>(*stage.node).to = &outbox;
    }
  }
  return static_cast<PushedSamples&>(*graph.stage(0).node);
}

pipeline::NodeTable library_nodes() {
  static const std::vector<const NodeType*> nodes = [] {
    std::vector<const NodeType*> all;
    for (const NodeType* const one : pipeline::host_nodes()) {
      if (one->name == pipeline::Infer::type.name)
        all.push_back(&SharedModelInfer::type);
      else if (one->input.kinds != 0 && one->output.kinds != 0 && !one->joins)
        all.push_back(one);
    }
    // `null` is for dry runs.
    all.insert(all.end(),
               {&PushedSamples::type, &DecisionSink::type, &FrameSink::type, &pipeline::Null::type});
    return all;
  }();
  return nodes;
}

}  // namespace runnel::library
