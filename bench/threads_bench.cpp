// Speed-up by threads: each model runs whole clips with one thread and with several, alternating, in one run;
// and so do graphs with the model of the digits.
//
//   threads_bench [--threads N] [--seconds S] [--digits digits.rnl] MODEL... > threads.json
//
// stdout: one JSON object; stderr: the same as a table. Leave it unpinned and the machine otherwise idle: a
// core in use elsewhere is a core less. Outputs are compared before timing.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/host/machine_peak.h"
#include "bench/interleaved.h"
#include "bench/networks.h"
#include "bench/threaded_graphs.h"
#include "compiler/import/load.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"
#include "inference/host/thread_pool.h"

namespace runnel::bench {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "threads_bench: {}\n", why);
  std::exit(1);
}
template <class T>
T need(Result<T> result) {
  if (!result.ok()) give_up(std::string(result.status().text()));
  return std::move(result).value();
}

std::shared_ptr<Runner> runner_of(const std::shared_ptr<const OwnedModel>& model, int threads) {
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.threads = threads;
  std::shared_ptr<Runner> runner = need(Runner::make(need(Engine::make(model, options))));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < model->model().inputs().size(); ++i) {
    for (std::byte& byte : runner->session().input(static_cast<int>(i)))
      byte = static_cast<std::byte>(random() & 63);
  }
  return runner;
}

std::vector<std::byte> outputs_of(Runner& runner) {
  runner.session().run(runner.prepared().block());
  std::vector<std::byte> all;
  for (const std::int32_t output : runner.model().outputs()) {
    const auto bytes = runner.session().tensor(output);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

// The current ceiling of this machine's cores together: multiply-adds in registers, which share nothing. No
// model can gain more.
void add_ceiling(const std::string& name, int threads, Interleaved& cases) {
  const std::shared_ptr<ThreadPool> pool = need(ThreadPool::make(threads));
  constexpr std::int64_t kLoops = 200000;  // about a millisecond: longer than it takes to wake a thread
  const auto work = [](const void*, int) noexcept { int8_peak(best_vector_isa(), kLoops); };
  cases.add(name + "/1", [threads] { int8_peak(best_vector_isa(), kLoops * threads); });
  cases.add(fmt::format("{}/{}", name, threads),
            [pool, threads, work] { pool->run(threads, work, nullptr); });
}

// Both times and their ratio, as JSON and on stderr. `unit`: what the times are per.
Json compared(const std::string& name, int threads, const std::map<std::string, Times>& times,
              std::string_view unit) {
  const Times one = times.at(name + "/1"), many = times.at(fmt::format("{}/{}", name, threads));
  fmt::print(stderr,
             "{:<40} 1: {:>9.1f} us{}, least {:>9.1f}   {}: {:>9.1f} us, least {:>9.1f}   {:.2f} times as "
             "fast, least {:.2f}\n",
             name, one.median, unit, one.min, threads, many.median, many.min, one.median / many.median,
             one.min / many.min);
  return {{"model", name},
          {"one_us", {{"median", one.median}, {"min", one.min}}},
          {"threads_us", {{"median", many.median}, {"min", many.min}}},
          {"ratio", {{"median", one.median / many.median}, {"min", one.min / many.min}}}};
}

int run(const std::vector<std::string>& paths, const std::string& digits, int threads, double seconds) {
  Interleaved cases(Interleaved::Clock::wall);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const std::shared_ptr<const OwnedModel>& model) {
    names.push_back(name);
    std::vector<std::byte> expected;
    for (const int n : {1, threads}) {
      const std::shared_ptr<Runner> runner = runner_of(model, n);
      const std::vector<std::byte> found = outputs_of(*runner);
      if (n == 1)
        expected = found;
      else if (found != expected)
        give_up(fmt::format("{}: {} threads give something else than one", name, n));
      cases.add(
          fmt::format("{}/{}", name, n),
          [runner] {
            // Several calls in a row: the first one wakes sleeping threads.
            for (int i = 0; i < 4; ++i) runner->session().run(runner->prepared().block());
          },
          4);
    }
  };
  if (int8_peak(best_vector_isa(), 1) > 0) {
    names.push_back("multiply-adds in registers");
    add_ceiling(names.back(), threads, cases);
  }
  M1 m1;
  const compiler::WrittenModel written = need(compiler::write_model(m1.graph(1000)));
  add("M1, ten seconds at once", need(OwnedModel::from_bytes(written.bytes)));
  for (const std::string& path : paths) {
    const std::string file = path.substr(path.rfind('/') + 1);
    add(file, need(compiler::load_model(path)).model);
  }
  const auto times = cases.run(seconds);
  Json out = {
      {"type", "threads"}, {"threads", threads}, {"rounds", cases.rounds()}, {"models", Json::array()}};
  for (const std::string& name : names) out["models"].push_back(compared(name, threads, times, ""));
  if (!digits.empty()) {
    // By themselves: a round of them takes much longer.
    Interleaved graphs(Interleaved::Clock::wall);
    const std::vector<std::string> graph_names = add_threaded_graphs(digits, threads, graphs);
    const auto graph_times = graphs.run(seconds);
    out["graph_rounds"] = graphs.rounds();
    for (const std::string& name : graph_names)
      out["graphs"].push_back(compared(name, threads, graph_times, " a second of sound"));
  }
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  int threads = 2;
  double seconds = 5;
  std::string digits;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (word == "--seconds" && i + 1 < argc)
      seconds = std::strtod(argv[++i], nullptr);
    else if (word == "--digits" && i + 1 < argc)
      digits = argv[++i];
    else if (!word.starts_with("--"))
      paths.push_back(word);
    else
      threads = 0;
  }
  if (threads < 2 || threads > 32) {
    std::fputs(
        "usage: threads_bench [--threads 2..32] [--seconds S] [--digits digits.rnl] MODEL... > "
        "threads.json\n",
        stderr);
    return 2;
  }
  return runnel::bench::run(paths, digits, threads, seconds);
}
