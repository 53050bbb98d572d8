#include "services/embed/dry_nodes.h"

#include <utility>

#include "embed/cores/cores_infer.h"
#include "embed/measure/operator_times.h"
#include "embed/measure/timed_infer.h"
#include "embed/program.h"
#include "features/fbank/rom_fbank.h"
#include "pipeline/host/registry.h"
#include "pipeline/nodes/decode/ctc.h"
#include "pipeline/nodes/decode/transducer.h"
#include "pipeline/nodes/model/model_stream.h"
#include "pipeline/nodes/model/passed_frames.h"
#include "pipeline/nodes/nodes.h"
#include "pipeline/nodes/spectrum/fbank.h"
#include "pipeline/nodes/spectrum/microfrontend.h"
#include "pipeline/nodes/spectrum/rom_fbank.h"
#include "pipeline/nodes/spectrum/rom_microfrontend.h"

namespace runnel::embedding {
namespace {

DryNodes* in_use = nullptr;

// Allocates what RomInfer allocates, and computes nothing.
class DryCompiled : public pipeline::Node {
 public:
  Status prepare(pipeline::NodeContext& context) noexcept override {
    const Placement& out = in_use->compiled->placement(in_use->output);
    pipeline::ModelStreamShape shape;
    shape.out_frames = out.frames;
    shape.up = out.up;
    shape.down = out.down;
    const auto& outputs = in_use->compiled->tables().outputs;
    while (outputs[static_cast<std::size_t>(shape.position)] != in_use->output) ++shape.position;
    pipeline::Bypass* bypass = nullptr;
    RUNNEL_TRY(make_bypass(context, *in_use->compiled, shape, in_use->compiled->block(), bypass));
    RUNNEL_ASSIGN(const Session session, pipeline::ModelStream::make_session(context, *in_use->compiled));
    stream_.start(context, session, shape, {}, {}, bypass);
    context.output = in_use->gives;
    return {};
  }
  std::int64_t reset(std::int64_t first) noexcept override { return first; }
  Status process(const pipeline::Block&, pipeline::Output&) noexcept override { return {}; }
  Status flush(pipeline::Output& out) noexcept override {
    out.end = true;
    return {};
  }

 protected:
  virtual Status make_bypass(const pipeline::NodeContext&, const Prepared&, const pipeline::ModelStreamShape&,
                             std::int64_t, pipeline::Bypass*&) noexcept {
    return {};
  }

 private:
  [[maybe_unused]] const void* model_ = nullptr;  // a pointer as in RomInfer
  pipeline::ModelStream stream_;
};

// The same for Timed nodes.
template <class Base>
class DryTimed final : public Base {
 public:
  Status prepare(pipeline::NodeContext& context) noexcept override {
    RUNNEL_TRY(Base::prepare(context));
    return times_.prepare(context.memory, *in_use->compiled);
  }

 private:
  embed::OperatorTimes times_;
};

// The node of the inference: `Base`, or what is made of it (extend_infer()).
template <class Base, template <class> class TimedBase>
pipeline::Node* place_infer(Memory& memory) {
  using Passing = pipeline::PassingBy<Base>;
  if (in_use->counters && in_use->passes) return embed::place<TimedBase<Passing>>(memory);
  if (in_use->counters) return embed::place<TimedBase<Base>>(memory);
  if (in_use->passes) return embed::place<Passing>(memory);
  return embed::place<Base>(memory);
}

pipeline::Node* dry_infer(Memory& memory) {
  if (in_use->compiled != nullptr) return place_infer<DryCompiled, DryTimed>(memory);
  if (in_use->cores == 1) return place_infer<pipeline::Infer, embed::Timed>(memory);
  pipeline::Node* const node = place_infer<embed::CoresInfer, embed::Timed>(memory);
  if (node != nullptr) static_cast<embed::CoresInfer*>(node)->cores = in_use->cores;
  return node;
}

Result<pipeline::Node*> dry_node(const pipeline::NodeType& type, const pipeline::NodeText& text,
                                 Memory& memory) {
  const bool constant = text.type == "fbank" || text.type == "microfrontend";
  const bool infer = text.type == "infer";
  pipeline::Node* const node = infer ? dry_infer(memory) : type.make(constant ? in_use->constants : memory);
  // A compiled model has no parameters.
  if (node == nullptr || (infer && in_use->compiled != nullptr)) return node;
  for (const pipeline::Parameter& parameter : type.parameters) {
    for (const pipeline::ParameterText& given : text.parameters) {
      if (given.key != parameter.name) continue;
      RUNNEL_ASSIGN(const pipeline::Value value, pipeline::parse_value(parameter, given.value));
      RUNNEL_TRY(parameter.set(parameter, *node, value));
    }
  }
  if (text.type == "ctc") {
    auto* const ctc = static_cast<pipeline::Ctc*>(node);
    ctc->lexicon = ctc->grammar = ctc->hotwords = {};
    ctc->tables = in_use->search;
  }
  if (text.type == "transducer") {
    auto* const transducer = static_cast<pipeline::Transducer*>(node);
    transducer->hotwords = {};
    transducer->tables = in_use->search;
  }
  if (text.type == "fbank") {
    RUNNEL_ASSIGN(features::Fbank made,
                  features::Fbank::make(static_cast<const pipeline::Fbank*>(node)->options, Isa::reference,
                                        in_use->constants));
    auto* const out = embed::place<pipeline::RomFbank>(memory);
    if (out != nullptr) out->tables = &in_use->fbanks.emplace_back(std::move(made)).tables();
    return out;
  }
  if (text.type == "microfrontend") {
    const auto& given = static_cast<const pipeline::Microfrontend&>(*node);
    RUNNEL_ASSIGN(features::Microfrontend made,
                  features::Microfrontend::make(given.options, Isa::reference, in_use->constants));
    auto* const out = embed::place<pipeline::RomMicrofrontend>(memory);
    if (out == nullptr) return out;
    const features::Microfrontend& kept = in_use->microfrontends.emplace_back(std::move(made));
    out->options = &kept.options();
    out->tables = &kept.tables();
    out->gives = given.dtype == "int8"      ? DType::int8
                 : given.dtype == "float32" ? DType::float32
                                            : DType::uint16;
    out->non_finite = given.non_finite;
    return out;
  }
  return node;
}

}  // namespace

DryNodesInUse::DryNodesInUse(DryNodes& nodes) noexcept { in_use = &nodes; }
DryNodesInUse::~DryNodesInUse() { in_use = nullptr; }

bool make_dry_nodes(Memory& memory, std::span<pipeline::Stage> stages) noexcept {
  in_use->made.clear();
  for (std::size_t i = 0; i < in_use->nodes.size(); ++i) {
    const pipeline::NodeText& text = in_use->nodes[i];
    const auto type = pipeline::find_node(pipeline::device_nodes(), text.type, true);
    const auto node = dry_node(**type, text, memory);
    if (!node.ok() || *node == nullptr) return false;
    in_use->made.push_back(*node);
    stages[i] = {*node, *type, text.type, static_cast<int>(i)};
  }
  return true;
}

}  // namespace runnel::embedding
