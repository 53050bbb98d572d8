// Exhausted memory: every allocation fails in turn, each time with a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/host/heap_memory.h"
#include "inference/host/engine.h"
#include "inference/model/loader.h"
#include "pipeline/executor.h"
#include "pipeline/nodes/nodes.h"
#include "tests/pipeline/support.h"
#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/originals.h"

namespace runnel::test {
namespace {

// Allows `count` allocations.
class FewPieces final : public Memory {
 public:
  explicit FewPieces(std::size_t count) : left_(count) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (left_ == 0) return nullptr;
    --left_;
    return heap_.allocate(bytes, alignment);
  }

 private:
  HeapMemory heap_;
  std::size_t left_;
};

// Lets the first, the second, ... allocation fail until the work succeeds. Returns the number of allocations.
std::size_t fail_each(const std::function<Status(Memory&)>& work) {
  for (std::size_t count = 0; count < 100000; ++count) {
    FewPieces memory(count);
    const Status status = work(memory);
    if (!failed_with_a_sentence(status)) return count;
    EXPECT_EQ(status.code(), Code::out_of_memory) << status.text();
  }
  ADD_FAILURE() << "never enough memory";
  return 0;
}

class Allocation : public testing::Test {
 protected:
  void SetUp() override {
    auto model = OwnedModel::from_bytes(digits_rnl());
    ASSERT_TRUE(model.ok()) << model.status().text();
    model_ = *model;
  }
  std::shared_ptr<const OwnedModel> model_;
};

TEST_F(Allocation, OfPreparedModelsAndWorkspaces) {
  for (const RunMode mode : {RunMode::stream, RunMode::whole}) {
    for (const Isa isa : {Isa::reference, Isa::generic, best_isa()}) {
      const PrepareOptions options{.mode = mode, .isa = isa};
      const std::size_t pieces = fail_each([&](Memory& memory) {
        return Prepared::make(model_->model(), all_operators(), options, memory).status();
      });
      EXPECT_GT(pieces, 20u);
      HeapMemory enough;
      const auto prepared = Prepared::make(model_->model(), all_operators(), options, enough);
      ASSERT_TRUE(prepared.ok()) << prepared.status().text();
      EXPECT_EQ(fail_each([&](Memory& memory) { return Workspace::make(**prepared, memory).status(); }), 6u);
    }
  }
}

// Counts bytes, not allocations: the need equals the count, to the byte.
TEST_F(Allocation, NeedsExactlyWhatItTook) {
  HeapMemory enough;
  ASSERT_TRUE(Prepared::make(model_->model(), all_operators(), {}, enough).ok());
  HeapMemory exact(enough.used()), short_of_one(enough.used() - 1);
  EXPECT_TRUE(Prepared::make(model_->model(), all_operators(), {}, exact).ok());
  EXPECT_TRUE(
      failed_with_a_sentence(Prepared::make(model_->model(), all_operators(), {}, short_of_one).status()));
}

TEST_F(Allocation, BeyondTheLimitIsRefused) {
  for (const RunMode mode : {RunMode::stream, RunMode::whole}) {
    HeapMemory memory;
    const auto prepared = Prepared::make(model_->model(), all_operators(), {.mode = mode}, memory);
    ASSERT_TRUE(prepared.ok());
    const std::size_t most =
        std::max({(*prepared)->arena_bytes(), (*prepared)->scratch_bytes(), (*prepared)->state_bytes()});
    EXPECT_TRUE(Prepared::make(model_->model(), all_operators(), {.mode = mode, .limit = most}, memory).ok());
    const Status status =
        Prepared::make(model_->model(), all_operators(), {.mode = mode, .limit = most - 1}, memory).status();
    EXPECT_TRUE(failed_with_a_sentence(status));
    EXPECT_NE(status.text().find("limit"), std::string_view::npos) << status.text();
  }
  HeapMemory memory;
  const Status long_clip =
      Prepared::make(model_->model(), all_operators(), {.mode = RunMode::whole, .frames = 1 << 29}, memory)
          .status();
  EXPECT_TRUE(failed_with_a_sentence(long_clip));
  EXPECT_NE(long_clip.text().find("limit"), std::string_view::npos) << long_clip.text();
}

class OneModel final : public ModelLoader {
 public:
  explicit OneModel(const Model& model) : model_(model) {}
  Result<const Model*> load(std::string_view) noexcept override { return &model_; }

 private:
  const Model& model_;
};

// As in firmware: no text, one memory for everything.
TEST_F(Allocation, OfTheWholeGraph) {
  using namespace pipeline;
  pipeline::test::Lossy::samples.assign(4000, 0.25f);
  pipeline::test::Lossy::losses.clear();
  pipeline::test::Lossy::sample_rate = 16000;
  OneModel loader(model_->model());
  const auto set = [](const NodeType& type, Node& node, std::string_view name, std::string_view value) {
    for (const Parameter& parameter : type.parameters) {
      if (parameter.name != name) continue;
      const auto parsed = parse_value(parameter, value);
      ASSERT_TRUE(parsed.ok()) << parsed.status().text();
      ASSERT_TRUE(parameter.set(parameter, node, *parsed).ok());
    }
  };
  const auto type_of = [](std::string_view name) {
    for (const NodeType* type : pipeline::test::test_nodes()) {
      if (type->name == name) return type;
    }
    return static_cast<const NodeType*>(nullptr);
  };
  const std::size_t pieces = fail_each([&](Memory& memory) {
    Stage stages[5];
    int made = 0;
    Status status;
    for (const std::string_view name : {"lossy", "fbank", "infer", "detect", "null"}) {
      Stage& stage = stages[made];
      stage.type = type_of(name);
      stage.label = name;
      stage.input = made - 1;
      stage.node = stage.type->make(memory);
      if (stage.node == nullptr) {
        status = out_of_memory(name);
        break;
      }
      ++made;
      set(*stage.type, *stage.node, "preset", "kaldi");
      set(*stage.type, *stage.node, "num_mel_bins", "40");
      set(*stage.type, *stage.node, "low_freq", "20");
      set(*stage.type, *stage.node, "high_freq", "7600");
      set(*stage.type, *stage.node, "model", "digits");
    }
    if (status.ok()) {
      ExecutorOptions options;
      options.models = &loader;
      options.operators = all_operators();
      auto executor = Executor::make(stages, options, memory);
      status = executor.status();
      for (bool done = false; executor.ok() && !done && status.ok();) status = (*executor)->step(done);
    }
    while (made > 0) stages[--made].node->~Node();
    return status;
  });
  EXPECT_GT(pieces, 40u);
}

}  // namespace
}  // namespace runnel::test
