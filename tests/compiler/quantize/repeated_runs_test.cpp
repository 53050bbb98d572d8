// Forms that begin alike give what they give alone, and what they share is not computed again.
#include "compiler/quantize/calibrate/repeated_runs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/quantize.h"
#include "tests/compiler/quantize/small_graph.h"

namespace runnel::test {
namespace {

using namespace compiler::quantizer;  // NOLINT(google-build-using-namespace)
using compiler::Graph;
using compiler::TensorId;
using Results = std::map<std::size_t, std::vector<std::vector<float>>>;  // per clip, per output

class CountedClips final : public Clips {
 public:
  explicit CountedClips(std::vector<Clip> clips) : clips_(std::move(clips)) {}
  [[nodiscard]] std::size_t size() const override { return clips_.size(); }
  [[nodiscard]] std::string name(std::size_t index) const override { return clips_.name(index); }
  Status read(std::size_t index, Clip& clip) const override {
    ++reads;
    return clips_.read(index, clip);
  }
  mutable std::atomic<int> reads = 0;

 private:
  MemoryClips clips_;
};

ClipRunner::Visit into(Results& results) {
  return [&results](std::size_t clip, std::size_t, const ClipRunner::Outputs& outputs) {
    auto& to = results.at(clip);
    to.clear();
    for (const auto& output : outputs[0]) to.emplace_back(output.begin(), output.end());
  };
}

class RepeatedRunsTest : public testing::TestWithParam<Scheme> {
 protected:
  RepeatedRunsTest() : clips_(small_.clips(6)) {
    Options options = options_for("generic");
    options.scheme = GetParam();
    options.methods = Methods{.equalize = false, .round = false, .correct_bias = false, .search = false};
    auto made = quantize(small_.graph, clips_, options);
    EXPECT_TRUE(made.ok()) << made.status().text();
    plan_ = made->plan;
    real_ = made->real;
    for (const std::size_t clip : which_) alone_[clip] = together_[clip] = {};
  }
  Graph form(const Plan& plan) const {
    auto made = emit_integer_graph(real_, plan);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return *made;
  }
  // The plan with twice the range of a tensor.
  Plan wider(const std::string& name) const {
    Plan plan = plan_;
    plan.range(id(name)) = {plan.range(id(name)).low * 2, plan.range(id(name)).high * 2};
    return plan;
  }
  TensorId id(const std::string& name) const {
    for (std::size_t i = 0; i < real_.tensors.size(); ++i) {
      if (real_.tensors[i].name == name) return static_cast<TensorId>(i);
    }
    ADD_FAILURE() << name;
    return 0;
  }
  // Both ways.
  void expect_the_same(RepeatedRuns& runs, const Plan& plan, TensorId wanted, bool becomes_base) {
    const TensorId ids[] = {wanted};
    Graph alone = form(plan);
    const Graph whole = alone;
    alone.outputs = {wanted};
    std::vector<compiler::Node> nodes;
    for (compiler::Node& node : alone.nodes) {
      nodes.push_back(node);
      if (node.outputs[0] == wanted) break;
    }
    alone.nodes = nodes;
    const Graph* const forms[] = {&alone};
    const auto runner = ClipRunner::make(forms, 2);
    ASSERT_TRUE(runner.ok()) << runner.status().text();
    ASSERT_TRUE(runner->run(clips_, which_, into(alone_)).ok());
    const Status status = runs.run(whole, ids, becomes_base, into(together_));
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(alone_, together_);
  }

  SmallGraph small_;
  CountedClips clips_;
  std::vector<std::size_t> which_ = {0, 2, 3, 4, 5};
  Plan plan_;
  Graph real_;
  Results alone_, together_;
};

TEST_P(RepeatedRunsTest, FormsThatDifferAnywhere) {
  RepeatedRuns runs(clips_, which_, 2, RepeatedRuns::Keep::all);
  const TensorId y = real_.outputs[0];
  expect_the_same(runs, plan_, y, true);
  for (const char* const name : {"x", "first", "deep", "point", "sum", "gate", "dense"}) {
    SCOPED_TRACE(name);
    expect_the_same(runs, wider(name), y, false);
  }
  // Another base, and back.
  expect_the_same(runs, wider("point"), y, true);
  expect_the_same(runs, wider("dense"), y, false);
  expect_the_same(runs, plan_, y, false);
  expect_the_same(runs, wider("point"), y, false);
}

TEST_P(RepeatedRunsTest, FormsThatDifferLaterAndLater) {
  RepeatedRuns runs(clips_, which_, 2, RepeatedRuns::Keep::following);
  for (const char* const name : {"first", "deep", "point", "sum", "gate", "dense"}) {
    SCOPED_TRACE(name);
    expect_the_same(runs, plan_, id(name), true);
  }
  expect_the_same(runs, wider("first"), id("dense"), true);
  expect_the_same(runs, plan_, id("deep"), true);
}

TEST_P(RepeatedRunsTest, WhatIsKnownIsNotComputedAgain) {
  RepeatedRuns runs(clips_, which_, 1, RepeatedRuns::Keep::all);
  const TensorId wanted[] = {real_.outputs[0]};
  ASSERT_TRUE(runs.run(form(plan_), wanted, true, into(together_)).ok());
  const int before = clips_.reads;
  ASSERT_TRUE(runs.run(form(wider("gate")), wanted, false, into(together_)).ok());
  EXPECT_EQ(clips_.reads, before) << "the first layers do not depend on this range";
  ASSERT_TRUE(runs.run(form(wider("first")), wanted, false, into(together_)).ok());
  EXPECT_EQ(clips_.reads, before + static_cast<int>(which_.size()));
}

TEST_P(RepeatedRunsTest, IsForWhatHasRoomInMemory) {
  EXPECT_TRUE(RepeatedRuns::can_keep(real_, 1000, RepeatedRuns::Keep::all));
  EXPECT_FALSE(RepeatedRuns::can_keep(real_, 1000000, RepeatedRuns::Keep::all));
}

INSTANTIATE_TEST_SUITE_P(Schemes, RepeatedRunsTest, testing::Values(Scheme::pow2, Scheme::affine));

}  // namespace
}  // namespace runnel::test
