// A model's own test vectors.
#include <algorithm>
#include <cstring>

#include "inference/host/check.h"
#include "inference/host/compare_tensors.h"

namespace runnel {

Result<VectorReport> check_vectors(std::shared_ptr<const OwnedModel> owned, Isa isa, OperatorTable table) {
  VectorReport report;
  const Model& model = owned->model();
  if (model.vectors() == nullptr || model.vectors()->cases() == nullptr) return report;
  const bool espdl = model.metadata("source.format") == "espdl";
  for (const fb::VectorCase* test : *model.vectors()->cases()) {
    PrepareOptions options;
    options.mode = RunMode::whole;
    options.isa = isa;
    options.share = false;
    for (const fb::VectorTensor* value : *test->inputs()) {
      if (model.plan() == nullptr) break;
      const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(value->tensor()))->time_axis();
      if (axis >= 0 && static_cast<std::uint32_t>(axis) < value->shape()->size())
        options.frames = value->shape()->Get(static_cast<std::uint32_t>(axis));
    }
    RUNNEL_ASSIGN(const auto engine, Engine::make(owned, options, table));
    RUNNEL_ASSIGN(const auto runner, Runner::make(engine));
    for (std::size_t i = 0; i < model.inputs().size(); ++i) {
      const std::span<std::byte> input = runner->session().input(static_cast<int>(i));
      bool found = false;
      for (const fb::VectorTensor* value : *test->inputs()) {
        if (value->tensor() != model.inputs()[i]) continue;
        if (value->data()->size() != input.size()) {
          return Status(Code::invalid_data) << "test vector " << report.cases << ": input of "
                                            << value->data()->size() << " bytes, expected " << input.size();
        }
        std::memcpy(input.data(), value->data()->data(), input.size());
        found = true;
      }
      if (!found) return Status(Code::invalid_data) << "test vector " << report.cases << " lacks input " << i;
    }
    runner->session().run(engine->prepared().block());
    bool exact = true, passed = true;
    for (const fb::VectorTensor* value : *test->outputs()) {
      const auto tensor = runner->session().tensor(value->tensor());
      const auto* first = reinterpret_cast<const std::byte*>(value->data()->data());
      const Bytes expected(first, first + value->data()->size()), found(tensor.begin(), tensor.end());
      const Placement& at = engine->prepared().placement(value->tensor());
      const TensorView view = model.tensor(value->tensor());
      const bool floats = view.dtype == DType::float32;
      const bool step = espdl && view.dtype == DType::int16;
      report.floats = report.floats || floats;
      report.int16_step = report.int16_step || step;
      if (expected == found) continue;
      exact = false;
      const double difference = largest_difference(view.dtype, expected, found);
      report.largest_difference = std::max(report.largest_difference, difference);
      if ((floats && difference <= kVectorTolerance) || (step && difference <= kEspdlInt16Steps)) continue;
      passed = same(view, value->tensor(), at.time_axis, at.frames, expected, found,
                    "vector " + std::to_string(report.cases), report.differences) &&
               passed;
    }
    ++report.cases;
    report.exact += exact ? 1 : 0;
    report.passed += passed ? 1 : 0;
  }
  return report;
}

}  // namespace runnel
