// How good the planned arenas of real models are: against the lower bound, and against ESP-DL's planner.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "compiler/load.h"
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
        if (auto loaded = compiler::load_model(entry.path()); loaded.ok()) out.push_back({fs::relative(entry.path(), test::data_folder()), std::move(loaded->model)});
      }
    }
    std::sort(out.begin(), out.end(), [](const PlannedFile& a, const PlannedFile& b) { return a.name < b.name; });
    return out;
  }();
  return all;
}

// As firmware prepares it, where ESP-DL has the same alignment; a model that cannot be run that way gives no engine.
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
    const auto above = std::count_if(all_.begin(), all_.end(), [](const auto& ratio) { return ratio.first > 1; });
    std::printf("%s: %zu models, arena / lower bound: median %.4f, worst %.4f (%s), above 1: %td\n", what, all_.size(), median, all_.back().first,
                all_.back().second.c_str(), above);
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
        if (const auto engine = engine_of(file, options)) ratios.add(file.name, engine->prepared().arena_bytes(), engine->prepared().arena_bound());
      }
      const std::string what = std::string(mode == RunMode::whole ? "whole clips" : "streams") + (device ? ", as firmware" : ", on this machine");
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
    const std::size_t walked = test::GreedyWalk::bytes(engine->model(), 16), planned = engine->prepared().arena_bytes();
    EXPECT_LE(planned, walked) << file.name;
    if (file.name.find("/ops/") == std::string::npos) savings.push_back(1 - static_cast<double>(planned) / static_cast<double>(walked));
  }
  ASSERT_GE(savings.size(), 100u);
  std::sort(savings.begin(), savings.end());
  std::printf("%zu models, saved against the greedy walk: least %.1f %%, median %.1f %%, most %.1f %%\n", savings.size(), 100 * savings.front(),
              100 * savings[savings.size() / 2], 100 * savings.back());
}

}  // namespace
}  // namespace runnel
