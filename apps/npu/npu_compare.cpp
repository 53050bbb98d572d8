// runnel npu compare: the layers of a compiled model beside those of its original on the CPU.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/npu/npu_segments.h"
#include "inference/host/engine.h"
#include "npu/host/layers.h"
#include "npu/host/simulator/simulated_npu.h"

namespace runnel::apps {
namespace {

struct CompareCall {
  std::string original, compiled;
  ModelFlags flags;
  unsigned seed = 1;
  bool json = false;
};

template <class T>
std::vector<std::int32_t> widened(std::span<const std::byte> bytes) {
  std::vector<std::int32_t> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<std::int32_t>(value);
  }
  return values;
}
// Empty for types that no NPU stores.
std::vector<std::int32_t> integers(std::span<const std::byte> bytes, DType dtype) {
  switch (dtype) {
    case DType::int8:
      return widened<std::int8_t>(bytes);
    case DType::uint8:
      return widened<std::uint8_t>(bytes);
    case DType::int16:
      return widened<std::int16_t>(bytes);
    case DType::int32:
      return widened<std::int32_t>(bytes);
    default:
      return {};
  }
}

// A model prepared for one run over a whole clip that keeps all tensors.
Result<std::unique_ptr<Runner>> runner_of(const std::shared_ptr<const OwnedModel>& owned,
                                          OperatorTable operators) {
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.share = false;
  RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, operators));
  return Runner::make(engine);
}

void fill(Session& session, const Model& model, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const std::span<std::byte> to = session.input(static_cast<int>(i));
    if (model.tensor(model.inputs()[i]).dtype == DType::float32) {
      for (std::size_t at = 0; at + sizeof(float) <= to.size(); at += sizeof(float)) {
        const float value = static_cast<float>(random() & 0xffff) / 32768.0f - 1.0f;
        std::memcpy(to.data() + at, &value, sizeof value);
      }
    } else {
      for (std::byte& byte : to) byte = static_cast<std::byte>(random());
    }
  }
}

Result<std::vector<npu::LayerTensor>> layers_of(const CompareCall& call, const OwnedModel& owned,
                                                Runner& runner) {
  const Model& model = owned.model();
  Session& session = runner.session();
  fill(session, model, call.seed);
  session.run(runner.prepared().block());
  std::vector<npu::LayerTensor> layers;
  for (int i = 0; i < model.operator_count(); ++i) {
    for (const std::int32_t tensor : *model.op(i).outputs()) {
      const Shape& shape = runner.prepared().shape(tensor);
      npu::LayerTensor layer{tensor_label(model, tensor),
                             integers(session.tensor(tensor), model.tensor(tensor).dtype),
                             static_cast<std::size_t>(shape.rank > 0 ? shape[shape.rank - 1] : 1)};
      if (!layer.values.empty()) layers.push_back(std::move(layer));
    }
  }
  return layers;
}

void print_layer(const CompareCall& call, int segment, const npu::Operation& op, const npu::Layer& layer,
                 const std::vector<npu::LayerTensor>& tensors) {
  const std::string name(npu::name_of(op));
  const std::size_t values = static_cast<std::size_t>(op.ofm.height) *
                             static_cast<std::size_t>(op.ofm.width) * static_cast<std::size_t>(op.ofm.depth);
  if (call.json) {
    nlohmann::ordered_json line{
        {"segment", segment}, {"index", op.index}, {"operation", name}, {"values", values}};
    if (layer.tensor >= 0)
      line.update({{"tensor", tensors[static_cast<std::size_t>(layer.tensor)].name},
                   {"first_channel", layer.first_channel},
                   {"differing", layer.differing},
                   {"largest_difference", layer.largest}});
    std::printf("%s\n", line.dump().c_str());
    return;
  }
  std::printf("%d  %4u  %-12s %10zu  ", segment, op.index, name.c_str(), values);
  if (layer.tensor < 0) {
    std::printf("no tensor of this size\n");
    return;
  }
  const npu::LayerTensor& tensor = tensors[static_cast<std::size_t>(layer.tensor)];
  const std::string place = tensor.channels == static_cast<std::size_t>(op.ofm.depth)
                                ? tensor.name
                                : tensor.name + ", from channel " + std::to_string(layer.first_channel);
  if (layer.differing == 0)
    std::printf("equals %s\n", place.c_str());
  else
    std::printf("nearest %s: %zu differ, by up to %lld\n", place.c_str(), layer.differing,
                static_cast<long long>(layer.largest));
}

Status run_compare(const CompareCall& call) {
  RUNNEL_ASSIGN(const auto original, load(call.original, call.flags));
  RUNNEL_ASSIGN(const auto compiled, load(call.compiled, call.flags));
  const Model &cpu = original->model(), &mixed = compiled->model();
  if (cpu.inputs().size() != mixed.inputs().size() || cpu.outputs().size() != mixed.outputs().size())
    return Status(Code::mismatch) << call.compiled << ": " << mixed.inputs().size() << " inputs and "
                                  << mixed.outputs().size() << " outputs, the original has "
                                  << cpu.inputs().size() << " and " << cpu.outputs().size();
  RUNNEL_ASSIGN(const auto reference, runner_of(original, all_operators()));
  RUNNEL_ASSIGN(const std::vector<npu::LayerTensor> layers, layers_of(call, *original, *reference));
  const npu::SegmentObserver observer = [&](int segment, const npu::Operation& op,
                                            std::span<const std::int32_t> output) {
    if (!output.empty()) print_layer(call, segment, op, npu::nearest_layer(op, output, layers), layers);
  };
  npu::SimulatedNpu npu(mixed, {}, observer);
  RUNNEL_ASSIGN(const auto runner, runner_of(compiled, npu.table()));
  Session& session = runner->session();
  for (std::size_t i = 0; i < cpu.inputs().size(); ++i) {
    const auto from = reference->session().input(static_cast<int>(i));
    const auto to = session.input(static_cast<int>(i));
    if (from.size() != to.size())
      return Status(Code::mismatch) << call.compiled << ": input " << i << " of " << to.size()
                                    << " bytes, the original has " << from.size();
  }
  fill(session, mixed, call.seed);
  session.run(runner->prepared().block());
  RUNNEL_TRY(npu.status());
  int different = 0;
  for (std::size_t i = 0; i < cpu.outputs().size(); ++i) {
    const auto a = reference->session().tensor(cpu.outputs()[i]), b = session.tensor(mixed.outputs()[i]);
    different += std::equal(a.begin(), a.end(), b.begin(), b.end()) ? 0 : 1;
  }
  if (different > 0)
    return Status(Code::mismatch) << call.compiled << ": " << different << " of " << cpu.outputs().size()
                                  << " outputs differ from the original's";
  return {};
}

}  // namespace

void add_npu_compare(Verb npu, int& exit_code) {
  auto call = std::make_shared<CompareCall>();
  Verb verb =
      npu.verb("compare",
               "Run a compiled model and its original on the same random input, and print for every "
               "operation of the NPU the tensor of the original that it equals; the exit code is 0 only "
               "when all outputs are equal");
  verb.positional("ORIGINAL", call->original, "Model file that the other one was compiled from").required();
  verb.positional("COMPILED", call->compiled, "Model file with parts for the Ethos-U").required();
  verb.option("--seed", call->seed, "Seed of the random input");
  verb.flag("--json", call->json, "One JSON object per line");
  add_model_flags(verb, call->flags);
  verb.callback([call, &exit_code] {
    if (const Status status = run_compare(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
