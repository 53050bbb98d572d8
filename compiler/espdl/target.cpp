#include "compiler/espdl/target.h"

#include <algorithm>
#include <cstring>

#include "base/host/heap_memory.h"
#include "compiler/espdl/layout.h"
#include "compiler/write/writer.h"
#include "inference/operator.h"
#include "inference/prepared.h"
#include "inference/session.h"

namespace runnel::compiler::espdl_source {

std::string_view name_of(EspdlTarget target) {
  switch (target) {
    case EspdlTarget::c:
      return "c";
    case EspdlTarget::esp32s3:
      return "esp32s3";
    case EspdlTarget::esp32p4:
      return "esp32p4";
    case EspdlTarget::automatic:
      break;
  }
  return "automatic";
}

EspdlTarget target_named(std::string_view name) {
  if (name == "c" || name == "esp32") return EspdlTarget::c;
  if (name == "esp32s3") return EspdlTarget::esp32s3;
  if (name == "esp32p4") return EspdlTarget::esp32p4;
  return EspdlTarget::automatic;
}

TargetChoice target_from_contents(const Model& model) {
  for (const auto& [key, value] : model.metadata) {
    if (key != "target") continue;
    if (const EspdlTarget target = target_named(value); target != EspdlTarget::automatic)
      return {target, "metadata says " + value};
  }
  for (const auto& [name, constant] : model.constants) {
    const auto layout = parse_weight_layout(constant.layout);
    if (layout.ok() && layout->order != WeightLayout::Order::blocked) {
      return {EspdlTarget::c, "weight layout " + constant.layout + " of \"" + name + "\" is that of c"};
    }
    if (layout.ok() && constant.exponents.size() > 1) {
      return {EspdlTarget::esp32p4, "\"" + name + "\" has one exponent per channel, which only esp32p4 has"};
    }
  }
  // Biases of 8-bit models are INT32 in the file; esp32s3 computes with 20 bits, and its exporter saturates
  // to that.
  constexpr std::int64_t kLargestBias = (std::int64_t{1} << 19) - 1;
  for (const Node& node : model.nodes) {
    if ((node.op != "Conv" && node.op != "Gemm") || node.inputs.size() < 3) continue;
    const Constant* bias = model.constant(node.inputs[2]);
    if (bias == nullptr || bias->dtype != DType::int32) continue;
    const auto values = integers_of(*bias);
    if (!values.ok()) continue;
    for (const std::int64_t value : *values) {
      if (value > kLargestBias || value < -kLargestBias - 1) {
        return {EspdlTarget::esp32p4, "a bias of " + std::to_string(value) + " in \"" + bias->name +
                                          "\" does not fit the 20 bits of esp32s3"};
      }
    }
  }
  return {};
}

Result<std::int64_t> differing_elements(const Graph& graph, OperatorTable table) {
  if (graph.vectors.empty()) return std::int64_t{-1};
  WriteOptions options;
  options.blocks.clear();
  options.operators = table;
  RUNNEL_ASSIGN(const WrittenModel written, write_model(graph, options));
  RUNNEL_ASSIGN(const runnel::Model model, runnel::Model::open(written.bytes));
  HeapMemory memory;
  PrepareOptions whole;
  whole.mode = RunMode::whole;
  // A guess is not worth more: a file of a few bytes may ask for any size.
  whole.limit = std::size_t{256} << 20;
  // A recording may be longer than the graph says.
  for (const fb::VectorTensor* value : *model.vectors()->cases()->Get(0)->inputs()) {
    if (model.plan() == nullptr) break;
    const int axis =
        model.plan()->tensors()->Get(static_cast<flatbuffers::uoffset_t>(value->tensor()))->time_axis();
    if (axis >= 0 && static_cast<flatbuffers::uoffset_t>(axis) < value->shape()->size())
      whole.frames = value->shape()->Get(static_cast<flatbuffers::uoffset_t>(axis));
  }
  RUNNEL_ASSIGN(const Prepared* prepared, Prepared::make(model, table, whole, memory));
  RUNNEL_ASSIGN(Workspace * workspace, Workspace::make(*prepared, memory));
  auto* const memory_of_state = static_cast<std::byte*>(memory.allocate(prepared->state_bytes() + 1, 64));
  if (memory_of_state == nullptr)
    return Status(Code::out_of_memory)
           << "no memory for a session of " << prepared->state_bytes() << " bytes";
  const std::span<std::byte> state(memory_of_state, prepared->state_bytes());
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, state));

  // The writer renumbers tensors; the file's own vectors carry its numbers.
  const fb::VectorCase& recorded = *model.vectors()->cases()->Get(0);
  const auto position_of = [](std::span<const std::int32_t> list, std::int32_t tensor) {
    return std::find(list.begin(), list.end(), tensor) - list.begin();
  };
  for (const fb::VectorTensor* value : *recorded.inputs()) {
    const auto position = position_of(model.inputs(), value->tensor());
    if (position == static_cast<std::ptrdiff_t>(model.inputs().size())) continue;
    const std::span<std::byte> to = session.input(static_cast<int>(position));
    if (to.size() != value->data()->size())
      return Status(Code::mismatch) << "test value of " << value->data()->size() << " bytes for an input of "
                                    << to.size();
    std::memcpy(to.data(), value->data()->data(), to.size());
  }
  session.run(prepared->block());
  std::int64_t differing = 0;
  for (const fb::VectorTensor* value : *recorded.outputs()) {
    const auto position = position_of(model.outputs(), value->tensor());
    if (position == static_cast<std::ptrdiff_t>(model.outputs().size()))
      continue;  // its memory may have been used again
    const std::byte* found = session.output(static_cast<int>(position)).data;
    const std::size_t element = size_of(model.tensor(value->tensor()).dtype);
    for (std::size_t at = 0; at + element <= value->data()->size(); at += element) {
      if (std::memcmp(found + at, value->data()->data() + at, element) != 0) ++differing;
    }
  }
  return differing;
}

}  // namespace runnel::compiler::espdl_source
