// The contract of an operator, checked for every one of this library: any cut of a recording gives the same
// bits, also after a reset, beside another session and after a restore; delays and rates are those stated;
// running allocates nothing. What the checks find is proven with operators that are broken on purpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "inference/host/engine.h"
#include "inference/host/operator_traits.h"
#include "inference/ops/definitions.h"
#include "tests/inference/ops/operator_cases.h"
#include "tests/support/allocations.h"

namespace runnel::test {
namespace {

using Violations = std::vector<std::string>;

void fill(Session& session, std::mt19937& random) {
  const Model& model = session.prepared().model();
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const std::span<std::byte> to = session.input(static_cast<int>(i));
    const DType type = model.tensor(model.inputs()[i]).dtype;
    for (std::size_t at = 0; at < to.size(); at += size_of(type)) {
      // Zeros among them, so that comparisons have something to find.
      const auto value = random() % 4 == 0 ? 0 : static_cast<std::int32_t>(random());
      const float real = static_cast<float>(value % 1000) / 500;
      const std::uint8_t truth = value % 2 == 0 ? 1 : 0;
      if (type == DType::float32)
        std::memcpy(&to[at], &real, sizeof real);
      else if (type == DType::boolean)
        std::memcpy(&to[at], &truth, sizeof truth);
      else
        std::memcpy(&to[at], &value, std::min(sizeof value, size_of(type)));
    }
  }
}

std::size_t allocations() { return allocations_of_this_thread().load(); }

// The stated delay and rate: run r brings the frames from r * frames - delay on, and no others.
void check_delay(const Engine& engine, Session& session, Violations& found) {
  std::mt19937 random(3);
  session.reset();
  for (std::int64_t run = 0; run < 12; ++run) {
    fill(session, random);
    session.run(engine.prepared().block());
    for (std::size_t i = 0; i < engine.model().outputs().size(); ++i) {
      const Placement& placement = engine.prepared().placement(engine.model().outputs()[i]);
      if (placement.time_axis < 0) continue;
      const std::int64_t start = run * placement.frames - placement.delay,
                         first = std::max<std::int64_t>(0, start),
                         count = std::max<std::int64_t>(0, start + placement.frames - first);
      const OutputFrames out = session.output(static_cast<int>(i));
      if (out.count == count && (count == 0 || out.first == first)) continue;
      found.push_back("delay: run " + std::to_string(run) + " brought " + std::to_string(out.count) +
                      " frames from " + std::to_string(out.first) + " on, stated " + std::to_string(count) +
                      " from " + std::to_string(first) + " on");
      return;
    }
  }
}

void check_allocations(Session& session, Violations& found) {
  std::mt19937 random(4);
  std::vector<std::byte> saved(session.saved_bytes());
  const std::size_t before = allocations();
  for (int run = 0; run < 5; ++run) {
    fill(session, random);
    session.run(session.prepared().block());
  }
  if (!session.save(saved).ok() || !session.restore(saved).ok()) found.push_back("save: it fails");
  session.run(0);
  session.reset();
  if (allocations() != before) found.push_back("allocation: while running");
}

// An output that is the same whatever goes in would pass all other checks.
void check_variety(const std::shared_ptr<const OwnedModel>& model, OperatorTable table, Violations& found) {
  const auto engine = Engine::make(model, {.mode = RunMode::whole}, table);
  if (!engine.ok()) return found.push_back("whole: " + std::string(engine.status().text()));
  const auto runner = Runner::make(*engine);
  Session& session = (*runner)->session();
  std::mt19937 random(5);
  std::set<std::vector<std::byte>> results;
  for (int run = 0; run < 3; ++run) {
    fill(session, random);
    session.run(session.prepared().block());
    const auto bytes = session.tensor(model->model().outputs()[0]);
    results.emplace(bytes.begin(), bytes.end());
  }
  if (results.size() != 3) found.push_back("variety: different inputs, the same output");
}

Violations check_stream(const std::shared_ptr<const OwnedModel>& model, OperatorTable table) {
  Violations found;
  for (const std::int64_t length : {1, 2, 7, kCaseFrames, kCaseFrames + 13}) {
    const auto report =
        check_streaming(model, length, {}, static_cast<std::uint32_t>(length), best_isa(), table);
    if (!report.ok()) {
      found.push_back("streaming: " + std::string(report.status().text()));
    } else if (!report->differences.empty()) {
      found.push_back(report->differences[0].run + ": frame " + std::to_string(report->differences[0].frame));
    }
  }
  const auto engine = Engine::make(model, {}, table);
  if (!engine.ok()) return {"prepare: " + std::string(engine.status().text())};
  const auto runner = Runner::make(*engine);
  check_delay(**engine, (*runner)->session(), found);
  check_allocations((*runner)->session(), found);
  check_variety(model, table, found);
  return found;
}

// ---- operators that keep state from call to call

struct Stepper {
  Stepper(const Engine& engine, std::byte poison) {
    Workspace* const workspace = *Workspace::make(engine.prepared(), memory);
    auto* const state = static_cast<std::byte*>(memory.allocate(engine.prepared().state_bytes(), 64));
    std::memset(state, static_cast<int>(poison), engine.prepared().state_bytes());
    session.emplace(*Session::make(engine.prepared(), *workspace, {state, engine.prepared().state_bytes()}));
  }
  // The outputs of one call with inputs from `seed`.
  std::vector<std::byte> call(std::uint32_t seed) {
    std::mt19937 random(seed);
    fill(*session, random);
    session->run(session->prepared().block());
    std::vector<std::byte> all;
    for (const std::int32_t output : session->prepared().model().outputs()) {
      const auto bytes = session->tensor(output);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }
  HeapMemory memory;
  std::optional<Session> session;
};

Violations check_steps(const std::shared_ptr<const OwnedModel>& model, OperatorTable table) {
  Violations found;
  const auto engine = Engine::make(model, {.mode = RunMode::whole}, table);
  if (!engine.ok()) return {"prepare: " + std::string(engine.status().text())};
  Stepper first(**engine, std::byte{0x55}), second(**engine, std::byte{0xAA}),
      third(**engine, std::byte{0x33});
  std::vector<std::vector<std::byte>> expected;
  for (std::uint32_t step = 0; step < 6; ++step) expected.push_back(first.call(step));
  // The call that follows repeats the first one: what it brings shows that there is a state.
  if (first.call(0) == expected[0]) found.push_back("state: none is kept from call to call");
  for (std::uint32_t step = 100; step < 103; ++step) second.call(step);
  second.session->reset();
  for (std::uint32_t step = 0; step < 6; ++step) {
    if (step == 3) {
      std::vector<std::byte> saved(second.session->saved_bytes());
      if (!second.session->save(saved).ok() || !third.session->restore(saved).ok())
        found.push_back("save: it fails");
    }
    if (second.call(step) != expected[step])
      found.push_back("reset: call " + std::to_string(step) + " differs");
    if (step >= 3 && third.call(step) != expected[step])
      found.push_back("restore: call " + std::to_string(step) + " differs");
  }
  check_allocations(*first.session, found);
  return found;
}

// `streams`: what the operator's documentation says.
Violations violations_of(const OperatorCase& made, bool streams, OperatorTable table) {
  compiler::WriteOptions options;
  options.operators = table;
  const auto written = compiler::write_model(made.graph, options);
  if (!written.ok()) return {"write: " + std::string(written.status().text())};
  const auto model = OwnedModel::from_bytes(written->bytes);
  if (!model.ok()) return {"open: " + std::string(model.status().text())};
  if (streams != written->refusals.empty())
    return {streams ? "refusal: " + written->refusals[0] : "refusal: documented, but it streams"};
  if (made.steps) return check_steps(*model, table);
  if (streams) return check_stream(*model, table);
  Violations found;
  check_variety(*model, table, found);
  return found;
}

std::string text_of(const Violations& found) {
  std::string text;
  for (const std::string& violation : found) text += "\n  " + violation;
  return text;
}

class OperatorContract : public testing::Test {
 protected:
  void SetUp() override { expect_that_allocations_are_counted(); }
};

TEST_F(OperatorContract, HoldsForEveryOperator) {
  int checked = 0;
  for (const OperatorDefinition* definition : all_operators()) {
    if (traits_of(definition->code).family == Family::outside) continue;
    const std::vector<OperatorCase> cases = operator_cases(*definition);
    EXPECT_FALSE(cases.empty()) << definition->name << " "
                                << name_of(definition->code, definition->arithmetic)
                                << " has no case: add one to tests/inference/ops/operator_cases.cpp";
    const ArithmeticFacts* const facts = arithmetic_facts(definition->code, definition->arithmetic);
    ASSERT_NE(facts, nullptr) << definition->name;
    const bool streams = facts->stream.substr(0, 2) != "no";
    for (const OperatorCase& made : cases) {
      const Violations found = violations_of(made, streams, all_operators());
      EXPECT_TRUE(found.empty()) << made.name << ":" << text_of(found);
      ++checked;
    }
  }
  EXPECT_GT(checked, 250);
}

// ---- operators that are broken on purpose: y = x, but for the fault

enum class Fault { none, depends_on_cut, keeps_state_over_reset, shares_state, allocates };

struct BoundFaulty : BoundOperator {
  std::int32_t x = 0, y = 0;
  std::size_t bytes = 0, frame = 0, state = 0;
  mutable std::int32_t shared = 0;
};

template <Fault kFault>
void run_faulty(const BoundOperator& self, const RunContext& context) noexcept {
  const auto& op = static_cast<const BoundFaulty&>(self);
  std::byte* const y = context.data[op.y];
  std::memcpy(y, context.data[op.x], op.bytes);
  // Frames so far, of whatever the fault counts them in; added to every first element of a frame.
  std::int32_t own = 0, &counter = op.shared;
  if (kFault == Fault::keeps_state_over_reset) std::memcpy(&own, context.state + op.state, sizeof own);
  for (std::size_t at = 0; at < op.bytes; at += op.frame) {
    if (kFault == Fault::depends_on_cut) y[at] ^= static_cast<std::byte>(at / op.frame);
    if (kFault == Fault::keeps_state_over_reset) y[at] ^= static_cast<std::byte>(own++);
    if (kFault == Fault::shares_state) y[at] ^= static_cast<std::byte>(counter++);
  }
  if (kFault == Fault::keeps_state_over_reset) std::memcpy(context.state + op.state, &own, sizeof own);
  if (kFault == Fault::allocates) ::operator delete(::operator new(16));
}

template <Fault kFault>
Result<const BoundOperator*> prepare_faulty(PrepareContext& context) noexcept {
  void* const memory = context.memory().allocate(sizeof(BoundFaulty), alignof(BoundFaulty));
  if (memory == nullptr) return Status(Code::out_of_memory);
  auto* const bound = new (memory) BoundFaulty;
  bound->run = run_faulty<kFault>;
  bound->x = context.op().inputs()->Get(0);
  bound->y = context.op().outputs()->Get(0);
  const Shape shape = context.shape(bound->y);
  bound->bytes = static_cast<std::size_t>(shape.elements());
  bound->frame = static_cast<std::size_t>(shape[shape.rank - 1]);
  if (kFault == Fault::keeps_state_over_reset) bound->state = context.request_state(sizeof(std::int32_t));
  return static_cast<const BoundOperator*>(bound);
}

template <Fault kFault>
Violations violations_with() {
  static constexpr OperatorDefinition kFaulty{
      OpCode::custom,
      Arithmetic{1},
      "Faulty",
      [](const Model&, const fb::Operator&) noexcept { return Status(); },
      [](const Model&, const fb::Operator&, TimeAxes axes, streaming::NodeRule&) noexcept {
        axes[1] = axes[0];
        return Status();
      },
      prepare_faulty<kFault>};
  static const OperatorDefinition* const kTable[] = {&kFaulty};
  OperatorCase made;
  compiler::Tensor x;
  x.name = "x";
  x.shape = {1, kCaseFrames, 3};
  x.dtype = DType::int8;
  x.exponents = {-4};
  compiler::Tensor y = x;
  y.name = "y";
  made.graph.tensors = {x, y};
  made.graph.inputs = {0};
  made.graph.outputs = {1};
  compiler::Node node;
  node.name = "faulty";
  node.code = OpCode::custom;
  node.inputs = {0};
  node.outputs = {1};
  node.options = compiler::CustomOptions{"Faulty", {}};
  made.graph.nodes = {node};
  return violations_of(made, true, kTable);
}

bool reports(const Violations& found, std::string_view what) {
  return std::any_of(found.begin(), found.end(),
                     [&](const std::string& one) { return one.find(what) != std::string::npos; });
}

TEST_F(OperatorContract, IsKeptByAnOperatorWithoutAFault) {
  const Violations found = violations_with<Fault::none>();
  EXPECT_TRUE(found.empty()) << text_of(found);
}

TEST_F(OperatorContract, NoticesResultsThatDependOnTheCut) {
  const Violations found = violations_with<Fault::depends_on_cut>();
  EXPECT_TRUE(reports(found, "blocks of")) << text_of(found);
}

TEST_F(OperatorContract, NoticesStateThatSurvivesAReset) {
  // The memory of a session is poisoned before its first use, which is a reset, too.
  const Violations found = violations_with<Fault::keeps_state_over_reset>();
  EXPECT_TRUE(reports(found, "blocks of")) << text_of(found);
}

TEST_F(OperatorContract, NoticesStateThatSessionsShare) {
  const Violations found = violations_with<Fault::shares_state>();
  EXPECT_TRUE(reports(found, "interleaved") || reports(found, "blocks of")) << text_of(found);
}

TEST_F(OperatorContract, NoticesAllocations) {
  const Violations found = violations_with<Fault::allocates>();
  EXPECT_EQ(reports(found, "allocation"), allocations_are_counted()) << text_of(found);
}

TEST_F(OperatorContract, NoticesDocumentationThatIsNotTrue) {
  const OperatorDefinition* const add = &ops::kAdd;
  const std::vector<OperatorCase> cases = operator_cases(*add);
  ASSERT_FALSE(cases.empty());
  EXPECT_TRUE(reports(violations_of(cases[0], false, all_operators()), "documented, but it streams"));
}

}  // namespace
}  // namespace runnel::test
