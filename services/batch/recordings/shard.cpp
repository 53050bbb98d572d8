#include "services/batch/recordings/shard.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace runnel::batch {
namespace {

constexpr int kMaxShards = 1 << 20;

bool read_number(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The environment variables with which an engine numbers its processes.
struct Engine {
  const char* index;
  const char* count;
  const char* first;  // variable with the lowest index; null: `base`
  int base;
};
constexpr Engine kEngines[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", 0},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr, 0},
    {"PMI_RANK", "PMI_SIZE", nullptr, 0},
    {"SGE_TASK_ID", "SGE_TASK_LAST", nullptr, 1},
    {"JOB_COMPLETION_INDEX", "RUNNEL_SHARDS", nullptr, 0},
};

}  // namespace

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const bool read = slash != std::string_view::npos && read_number(text.substr(0, slash), shard.index) &&
                    read_number(text.substr(slash + 1), shard.count);
  if (!read || shard.count < 1 || shard.count > kMaxShards || shard.index < 0 || shard.index >= shard.count) {
    return Status(Code::invalid_argument)
           << "shard \"" << text << "\", expected I/N with I from 0 to N - 1 and N at most " << kMaxShards;
  }
  return shard;
}

Result<EngineShard> engine_shard(const Environment& environment) {
  const auto value = [&](const char* name) {
    const char* const text = name == nullptr ? nullptr : environment(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  for (const Engine& engine : kEngines) {
    const std::string_view index = value(engine.index), count = value(engine.count),
                           first = value(engine.first);
    if (index.empty() || index == "undefined") continue;
    int number = 0, all = 0, base = engine.base;
    const bool read =
        read_number(index, number) && read_number(count, all) && (first.empty() || read_number(first, base));
    const std::int64_t place = static_cast<std::int64_t>(number) - base;
    if (!read || all < 1 || all > kMaxShards || place < 0 || place >= all) {
      return Status(Code::invalid_argument) << engine.index << "=" << index << " with " << engine.count << "="
                                            << count << ": no shard; say --shard I/N (0/1: everything)";
    }
    return EngineShard{{static_cast<int>(place), all}, engine.index};
  }
  return EngineShard{};
}

Recordings share_of(Recordings recordings, const Shard& shard) {
  if (shard.count == 1) return recordings;
  // In order of falling cost, each to the shard with the least cost so far.
  std::vector<std::size_t> order(recordings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::int64_t> costs;
  costs.reserve(recordings.size());
  // Adds the cost of opening a recording.
  for (const Recording& recording : recordings) costs.push_back(recording.cost() + 4096);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  using Load = std::pair<std::int64_t, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int i = 0; i < shard.count; ++i) loads.emplace(0, i);
  std::vector<bool> mine(recordings.size(), false);
  for (const std::size_t i : order) {
    auto [load, index] = loads.top();
    loads.pop();
    mine[i] = index == shard.index;
    loads.emplace(load + costs[i], index);
  }
  Recordings share;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (mine[i]) share.push_back(recordings[i]);
  }
  return share;
}

}  // namespace runnel::batch
