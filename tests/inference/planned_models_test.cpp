// How good the planned arenas of real models are: against the lower bound, and against ESP-DL's planner.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "compiler/import/load.h"
#include "tests/inference/greedy_walk.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;

struct PlannedFile {
  std::string name;
  std::shared_ptr<const OwnedModel> model;
};

// Every file that can be imported.
const std::vector<PlannedFile>& files() {
  static const std::vector<PlannedFile> all = [] {
    std::vector<PlannedFile> out;
    for (const char* folder : {"espdl", "digits", "conformance"}) {
      for (const auto& entry : fs::recursive_directory_iterator(test::data_folder() / folder)) {
        if (entry.path().extension() != ".espdl") continue;
        if (auto loaded = compiler::load_model(entry.path()); loaded.ok())
          out.push_back({fs::relative(entry.path(), test::data_folder()), std::move(loaded->model)});
      }
    }
    std::sort(out.begin(), out.end(),
              [](const PlannedFile& a, const PlannedFile& b) { return a.name < b.name; });
    return out;
  }();
  return all;
}

// As firmware prepares it, where ESP-DL has the same alignment; a model that cannot be run that way gives no
// engine.
std::shared_ptr<const Engine> engine_of(const PlannedFile& file, PrepareOptions options) {
  if (options.mode == RunMode::stream && file.model->model().plan() == nullptr) return nullptr;
  auto engine = Engine::make(file.model, options);
  EXPECT_TRUE(engine.ok()) << file.name << ": " << engine.status().text();
  return engine.ok() ? *engine : nullptr;
}

class Ratios {
 public:
  void add(const std::string& name, std::size_t arena, std::size_t bound) {
    if (bound == 0) return;
    ASSERT_GE(arena, bound) << name;
    all_.push_back({static_cast<double>(arena) / static_cast<double>(bound), name});
  }
  void expect_near_one(const char* what, std::size_t least) {
    ASSERT_GE(all_.size(), least) << what;
    std::sort(all_.begin(), all_.end());
    const double median = all_[all_.size() / 2].first;
    const auto above =
        std::count_if(all_.begin(), all_.end(), [](const auto& ratio) { return ratio.first > 1; });
    std::printf("%s: %zu models, arena / lower bound: median %.4f, worst %.4f (%s), above 1: %td\n", what,
                all_.size(), median, all_.back().first, all_.back().second.c_str(), above);
    EXPECT_LE(median, 1.03) << what;
    EXPECT_LE(all_.back().first, 1.10) << what << ": " << all_.back().second;
  }

 private:
  std::vector<std::pair<double, std::string>> all_;
};

TEST(PlannedModels, AreNearTheLowerBound) {
  RUNNEL_NEEDS_DATA();
  for (const RunMode mode : {RunMode::whole, RunMode::stream}) {
    for (const bool device : {true, false}) {
      Ratios ratios;
      for (const PlannedFile& file : files()) {
        PrepareOptions options{.mode = mode};
        if (device) options.isa = Isa::generic, options.slack = false, options.alignment = 16;
        if (const auto engine = engine_of(file, options))
          ratios.add(file.name, engine->prepared().arena_bytes(), engine->prepared().arena_bound());
      }
      const std::string what = std::string(mode == RunMode::whole ? "whole clips" : "streams") +
                               (device ? ", as firmware" : ", on this machine");
      ratios.expect_near_one(what.c_str(), mode == RunMode::whole ? 1000 : 80);
    }
  }
}

TEST(PlannedModels, NeedNoMoreThanTheGreedyWalk) {
  RUNNEL_NEEDS_DATA();
  std::vector<double> savings;
  for (const PlannedFile& file : files()) {
    const auto engine = engine_of(file, {.mode = RunMode::whole, .isa = Isa::generic, .alignment = 16});
    if (engine == nullptr) continue;
    const std::size_t walked = test::GreedyWalk::bytes(engine->model(), 16),
                      planned = engine->prepared().arena_bytes();
    EXPECT_LE(planned, walked) << file.name;
    if (file.name.find("/ops/") == std::string::npos)
      savings.push_back(1 - static_cast<double>(planned) / static_cast<double>(walked));
  }
  ASSERT_GE(savings.size(), 100u);
  std::sort(savings.begin(), savings.end());
  std::printf("%zu models, saved against the greedy walk: least %.1f %%, median %.1f %%, most %.1f %%\n",
              savings.size(), 100 * savings.front(), 100 * savings[savings.size() / 2], 100 * savings.back());
}

// Values that every type takes: small numbers, of which indices and booleans can be made too.
void fill(std::span<std::byte> bytes, DType type, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
    const std::uint32_t value = random();
    const float real = static_cast<float>(value % 2001) / 1000.0f - 1.0f;
    const std::int64_t small = value % 3;
    switch (type) {
      case DType::float32:
        std::memcpy(&bytes[i], &real, size);
        break;
      case DType::int8:
      case DType::int16:
        std::memcpy(&bytes[i], &value, size);
        break;
      case DType::boolean:
        bytes[i] = std::byte(value % 2);
        break;
      default:
        std::memcpy(&bytes[i], &small, size);
        break;
    }
  }
}

// A few blocks or one clip; all data that comes out.
std::vector<std::byte> run_once(Session& session, RunMode mode) {
  const Prepared& prepared = session.prepared();
  const Model& model = prepared.model();
  std::vector<std::byte> out;
  for (std::uint32_t block = 0; block < (mode == RunMode::stream ? 4 : 1); ++block) {
    for (std::size_t i = 0; i < model.inputs().size(); ++i)
      fill(session.input(static_cast<int>(i)), model.tensor(model.inputs()[i]).dtype,
           7 * block + static_cast<std::uint32_t>(i));
    session.run(prepared.block());
    for (std::size_t i = 0; i < model.outputs().size(); ++i) {
      const OutputFrames got = session.output(static_cast<int>(i));
      const std::size_t bytes =
          static_cast<std::size_t>(got.count) * prepared.placement(model.outputs()[i]).frame_bytes;
      if (bytes > 0) out.insert(out.end(), got.data, got.data + bytes);
    }
  }
  return out;
}

// The outputs. Fast memory is exactly as much as was asked for.
Result<std::vector<std::byte>> outputs_of(const Model& model, const PrepareOptions& options) {
  HeapMemory slow;
  const bool limited = options.fast_bytes < (std::size_t{1} << 30);
  std::vector<std::byte> chip_bytes(limited ? options.fast_bytes + 63 : 0);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(chip_bytes.data()) % 64;
  FixedMemory chip(limited ? std::span(chip_bytes).subspan(past == 0 ? 0 : 64 - past, options.fast_bytes)
                           : std::span<std::byte>());
  Memory& fast = limited ? static_cast<Memory&>(chip) : slow;
  RUNNEL_ASSIGN(const Prepared* const prepared, Prepared::make(model, all_operators(), options, slow, fast));
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, fast, slow));
  auto* const state = static_cast<std::byte*>(
      (prepared->state_tier() == Tier::fast ? fast : slow).allocate(prepared->state_bytes(), 64));
  if (state == nullptr) return Status(Code::out_of_memory) << "no memory for the state";
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, {state, prepared->state_bytes()}));
  return run_once(session, options.mode);
}

// Whatever shares memory, wherever it is: the bits are those of tensors that all have memory of their own.
TEST(PlannedModels, GiveTheSameBitsInAnyMemory) {
  RUNNEL_NEEDS_DATA();
  int compared = 0;
  for (const PlannedFile& file : files()) {
    const Model& model = file.model->model();
    if (model.weight_bytes() > 200000) continue;  // takes long, and nothing is different
    for (const RunMode mode : {RunMode::whole, RunMode::stream}) {
      if (mode == RunMode::stream && model.plan() == nullptr) continue;
      for (const Isa isa : {Isa::generic, best_isa()}) {
        PrepareOptions options{.mode = mode, .isa = isa, .share = false};
        const auto expected = outputs_of(model, options);
        ASSERT_TRUE(expected.ok()) << file.name << ": " << expected.status().text();
        options.share = true;
        const std::size_t all = static_cast<std::size_t>(-1);
        HeapMemory memory;
        const auto prepared = Prepared::make(model, all_operators(), options, memory);
        ASSERT_TRUE(prepared.ok());
        const std::size_t half = (*prepared)->arena_bytes() / 2;
        for (const std::size_t limit : {std::size_t{0}, std::size_t{1024}, half, half * 2 + 512,
                                        half * 2 + (*prepared)->state_bytes() + 2048, all}) {
          options.fast_bytes = limit;
          options.param_copy = limit != half;
          const auto got = outputs_of(model, options);
          ASSERT_TRUE(got.ok()) << file.name << ": " << got.status().text();
          EXPECT_TRUE(*got == *expected) << file.name << ' ' << limit << " of " << half * 2
                                         << (mode == RunMode::whole ? " whole" : " streamed");
          ++compared;
        }
      }
    }
  }
  EXPECT_GE(compared, 20000);
}

// Once constants are copied, nobody reads the file's: they can be overwritten.
TEST(PlannedModels, CopiedConstantsLeaveTheFileAlone) {
  RUNNEL_NEEDS_DATA();
  std::size_t copied = 0, packed = 0, in_place = 0;
  for (const PlannedFile& file : files()) {
    if (file.model->model().weight_bytes() > 200000) continue;
    for (const Isa isa : {Isa::reference, Isa::generic, best_isa()}) {
      PrepareOptions options{.mode = RunMode::whole, .isa = isa};
      const auto expected = outputs_of(file.model->model(), options);
      ASSERT_TRUE(expected.ok()) << file.name;
      const auto engine = Engine::make(file.model, options);
      ASSERT_TRUE(engine.ok());
      const Prepared::ConstantBytes used = (*engine)->prepared().constant_bytes();
      packed += used.packed;
      in_place += used.in_place;
      options.param_copy = true;
      const auto own = OwnedModel::from_bytes(file.model->model().bytes());
      ASSERT_TRUE(own.ok());
      const auto copying = Engine::make(*own, options);
      ASSERT_TRUE(copying.ok());
      const Prepared::ConstantBytes moved = (*copying)->prepared().constant_bytes();
      EXPECT_EQ(moved.in_place, 0u);
      EXPECT_EQ(moved.copied_fast + moved.copied_slow, used.in_place);
      EXPECT_EQ(moved.packed, used.packed);
      copied += moved.copied_fast;
      for (int t = 0; t < (*own)->model().tensor_count(); ++t) {
        const std::span<const std::byte> data = (*own)->model().tensor(t).data;
        std::fill_n(const_cast<std::byte*>(data.data()), data.size(), std::byte{0x55});
      }
      auto runner = Runner::make(*copying);
      ASSERT_TRUE(runner.ok());
      EXPECT_TRUE(run_once((*runner)->session(), options.mode) == *expected)
          << file.name << ' ' << name_of(isa);
    }
  }
  EXPECT_GT(copied, 0u);
  EXPECT_GT(packed, 0u);
  EXPECT_EQ(in_place, copied);
}

}  // namespace
}  // namespace runnel
