// A test of the tests: defects planted into the streaming plan must be seen by the comparison of streamed and
// whole runs.
#include <gtest/gtest.h>

#include <new>

#include "inference/host/check.h"
#include "streaming/certainty.h"
#include "tests/inference/random_graph.h"

namespace runnel {
namespace {

enum class Defect { none, cache, join, state, certainty };
Defect planted = Defect::none;

// Prepares an operator as if the plan had said something else.
class Misled final : public PrepareContext {
 public:
  explicit Misled(PrepareContext& inner) : inner_(inner) {}
  const Model& model() const noexcept override { return inner_.model(); }
  const fb::Operator& op() const noexcept override { return inner_.op(); }
  Isa isa() const noexcept override { return inner_.isa(); }
  Memory& memory() const noexcept override { return inner_.memory(); }
  std::int32_t parts(std::int64_t work) const noexcept override { return inner_.parts(work); }
  Shape shape(int tensor) const noexcept override { return inner_.shape(tensor); }
  int time_axis(int tensor) const noexcept override { return inner_.time_axis(tensor); }
  bool streamed() const noexcept override { return inner_.streamed(); }
  bool windows_apart() const noexcept override { return inner_.windows_apart(); }
  Absorbed absorbed() const noexcept override { return inner_.absorbed(); }
  void request_scratch(std::size_t bytes) noexcept override { inner_.request_scratch(bytes); }
  std::size_t request_state(std::size_t bytes) noexcept override { return inner_.request_state(bytes); }
  void read_constant(int tensor) noexcept override { inner_.read_constant(tensor); }
  Status read_constant(int tensor, void* pointer) noexcept override {
    return inner_.read_constant(tensor, pointer);
  }
  void use_frame_index() noexcept override { inner_.use_frame_index(); }
  TimeWindow window(int position) const noexcept override {
    TimeWindow window = inner_.window(position);
    if (!inner_.streamed() || inner_.windows_apart()) return window;
    const bool joins =
        op().inputs()->size() > 1 && op().outputs()->size() == 1 &&
        (code_of(op()) == OpCode::add || code_of(op()) == OpCode::mul || code_of(op()) == OpCode::sub);
    if (planted == Defect::join && joins) window.back_bytes = window.back_frames = 0;
    if (planted == Defect::cache && code_of(op()) == OpCode::conv && window.back_frames > 0) {
      window.back_bytes += window.back_bytes / window.back_frames;
      ++window.back_frames;
      ++window.frames;
    }
    return window;
  }

 private:
  PrepareContext& inner_;
};

// A recurrent operator that takes every frame for data.
struct Reckless : BoundOperator {
  const BoundOperator* inner = nullptr;
  int tensors = 0;
};

Result<const BoundOperator*> prepare(PrepareContext& context) noexcept;

// All operators, prepared by prepare().
const std::vector<OperatorDefinition>& misled_definitions() {
  static const std::vector<OperatorDefinition> definitions = [] {
    std::vector<OperatorDefinition> list;
    for (const OperatorDefinition* definition : all_operators()) {
      list.push_back(*definition);
      list.back().prepare = prepare;
    }
    return list;
  }();
  return definitions;
}
OperatorTable misled_operators() {
  static const std::vector<const OperatorDefinition*> table = [] {
    std::vector<const OperatorDefinition*> list;
    for (const OperatorDefinition& definition : misled_definitions()) list.push_back(&definition);
    return list;
  }();
  return table;
}

Result<const BoundOperator*> prepare(PrepareContext& context) noexcept {
  Misled misled(context);
  const auto bound = find_operator(all_operators(), context.op())->prepare(misled);
  const bool remembers = code_of(context.op()) == OpCode::gru || code_of(context.op()) == OpCode::lstm;
  if (!bound.ok() || planted != Defect::state || !remembers || !context.streamed() || context.windows_apart())
    return bound;
  auto* const reckless = new (context.memory().allocate(sizeof(Reckless), alignof(Reckless))) Reckless();
  static_cast<BoundOperator&>(*reckless) = **bound;
  reckless->inner = *bound;
  reckless->tensors = context.model().tensor_count();
  reckless->run = [](const BoundOperator& self, const RunContext& given) noexcept {
    const auto& op = static_cast<const Reckless&>(self);
    const std::vector<FrameIndex> all_data(static_cast<std::size_t>(op.tensors));
    RunContext own = given;
    own.index = all_data.data();
    op.inner->run(*op.inner, own);
  };
  if ((*bound)->reset != nullptr) {
    reckless->reset = [](const BoundOperator& self, std::byte* state) noexcept {
      const auto& op = static_cast<const Reckless&>(self);
      op.inner->reset(*op.inner, state);
    };
  }
  return static_cast<const BoundOperator*>(reckless);
}

// How many of the random graphs the comparison finds different.
int caught(Defect defect, int graphs) {
  planted = defect;
  int found = 0;
  for (std::uint32_t seed = 1; graphs > 0; ++seed) {
    test::RandomGraph random(seed, DType::int8);
    if (!random.legal()) continue;
    --graphs;
    // One frame more is kept everywhere, so that the defect reads what is there.
    compiler::WriteOptions options;
    auto written = compiler::write_model(random.builder().graph(), options);
    EXPECT_TRUE(written.ok()) << written.status().text();
    if (!written.ok() || !written->refusals.empty()) continue;
    auto model = OwnedModel::from_bytes(written->bytes);
    if (defect == Defect::cache) {
      const auto engine = Engine::make(*model);
      for (int t = 0; t < (*model)->model().tensor_count(); ++t) {
        const Placement& at = (*engine)->prepared().placement(t);
        if (at.history > 0)
          options.stream.contexts[std::string((*model)->model().tensor_name(t))] = at.history + 1;
      }
      written = compiler::write_model(random.builder().graph(), options);
      EXPECT_TRUE(written.ok()) << written.status().text();
      model = OwnedModel::from_bytes(written->bytes);
    }
    EXPECT_TRUE(model.ok()) << model.status().text();
    const auto report = check_streaming(*model, 10 + static_cast<std::int64_t>(seed % 31), {}, seed,
                                        best_isa(), misled_operators());
    EXPECT_TRUE(report.ok() || report.status().code() == Code::mismatch) << report.status().text();
    found += !report.ok() || !report->differences.empty() ? 1 : 0;
  }
  planted = Defect::none;
  return found;
}

TEST(StreamingMutants, NothingIsFoundWithoutADefect) { EXPECT_EQ(caught(Defect::none, 150), 0); }
TEST(StreamingMutants, OneCacheFrameTooManyIsCaught) { EXPECT_GT(caught(Defect::cache, 100), 20); }
TEST(StreamingMutants, DroppedJoinDelaysAreCaught) { EXPECT_GT(caught(Defect::join, 150), 5); }
TEST(StreamingMutants, StateThatFollowsFramesThatAreNoDataIsCaught) {
  EXPECT_GT(caught(Defect::state, 250), 0);
}
TEST(StreamingMutants, UpsampledFramesCalledDataTooEarlyAreCaught) {
  EXPECT_GT(caught(Defect::certainty, 500), 0);
}

}  // namespace

// In place of the library's: all that use it see the defect.
namespace streaming {
std::int64_t certainty(const NodeRule& rule) noexcept {
  return planted == Defect::certainty ? 0
                                      : std::max<std::int64_t>(0, rule.right + rule.stride - rule.extent());
}
}  // namespace streaming

}  // namespace runnel
