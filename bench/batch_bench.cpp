// Speed and memory of `runnel batch`, as ratios of measurements from the same run:
//   batch_bench RUNNEL DIGITS.rnl [FILES [HOURS [ROUNDS]]]
// FILES: recordings of 10 s (default 1,000). HOURS: of the long recording (24). ROUNDS: every ratio is the
// median of so many (5). Files are written under TMPDIR. stdout: Markdown, as in docs/batch.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "bench/digits_graph.h"

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRate = 16000;
constexpr int kClip = 10;  // seconds

// 16-bit samples at 16 kHz; the promised samples beyond `samples` are zeros in a sparse file.
void write_wav(const fs::path& path, const std::vector<std::int16_t>& samples, std::int64_t promised) {
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.put(static_cast<char>(value >> (8 * i)));
  };
  const auto data = static_cast<std::uint32_t>(promised * 2);
  out << "RIFF";
  put(data + 36, 4);
  out << "WAVEfmt ";
  put(16, 4);
  put(1, 2);
  put(1, 2);
  put(kRate, 4);
  put(kRate * 2, 4);
  put(2, 2);
  put(16, 2);
  out << "data";
  put(data, 4);
  out.write(reinterpret_cast<const char*>(samples.data()), static_cast<std::streamsize>(samples.size() * 2));
  out.close();
  fs::resize_file(path, 44 + static_cast<std::uintmax_t>(data));
}

std::vector<std::int16_t> words(int seconds, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> samples(static_cast<std::size_t>(kRate * seconds));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / kRate;
    const double voice = std::max(0.0, std::sin(6.28 * 1.3 * t)) *
                         std::sin(6.28 * (180 + 40 * (seed % 7)) * t + 3 * std::sin(6.28 * 4 * t));
    samples[i] = static_cast<std::int16_t>(6000 * voice + static_cast<double>(random() % 400));
  }
  return samples;
}

struct Usage {
  double wall = 0, processor = 0, peak_mb = 0;  // seconds; MB of peak resident memory
};

std::vector<pid_t> start(const std::vector<std::vector<std::string>>& calls) {
  std::vector<pid_t> children;
  for (const auto& call : calls) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<char*> arguments;
      for (const std::string& argument : call) arguments.push_back(const_cast<char*>(argument.c_str()));
      arguments.push_back(nullptr);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    children.push_back(child);
  }
  return children;
}

// Runs these programs at the same time until the last one ends.
Usage run(const std::vector<std::vector<std::string>>& calls) {
  Usage usage;
  const auto begin = std::chrono::steady_clock::now();
  for (const pid_t child : start(calls)) {
    int state = 0;
    rusage used{};
    wait4(child, &state, 0, &used);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) {
      fmt::print(stderr, "batch_bench: {} ended with {}\n", calls[0][0], state);
      std::exit(1);
    }
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    usage.processor += seconds(used.ru_utime) + seconds(used.ru_stime);
    usage.peak_mb = std::max(usage.peak_mb, static_cast<double>(used.ru_maxrss) / 1024);
  }
  usage.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return usage;
}

// Drops files from the page cache: the next reader waits for the disk.
void forget(const fs::path& folder) {
  sync();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void row(const char* what, double value, const char* unit, const char* goal) {
  fmt::print("| {} | {:.3f}{} | {} |\n", what, value, unit, goal);
}

}  // namespace

int main(int count, char** values) {
  if (count < 3) {
    fmt::print(stderr, "usage: batch_bench RUNNEL DIGITS.rnl [FILES [HOURS [ROUNDS]]]\n");
    return 2;
  }
  const std::string runnel = values[1], model = values[2];
  const int files = count > 3 ? std::atoi(values[3]) : 1000, rounds = count > 5 ? std::atoi(values[5]) : 5;
  const double hours = count > 4 ? std::atof(values[4]) : 24;
  std::string name = (fs::temp_directory_path() / "runnel-batch-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return 1;
  const fs::path folder = name;
  const auto batch = [&](const fs::path& input, const std::string& output, std::vector<std::string> more) {
    std::vector<std::string> call = {
        runnel, "batch", model, input.string(), "-o", (folder / output).string(), "--progress", "0"};
    call.insert(call.end(), more.begin(), more.end());
    return call;
  };

  fs::create_directory(folder / "clips");
  for (int i = 0; i < files; ++i)
    write_wav(folder / "clips" / fmt::format("{:05}.wav", i), words(kClip, static_cast<unsigned>(i)),
              kRate * kClip);
  const double audio = static_cast<double>(files) * kClip;
  run({batch(folder / "clips", "warm.jsonl", {})});  // everything is in the page cache now
  std::vector<double> shares, even_shares, scaling, cold, end_to_end, compute;
  for (int round = 0; round < rounds; ++round) {
    // Compared with the fastest way to run the graph.
    double pure = 1e9;
    for (const auto& [chunk, tick] : {std::pair<std::int64_t, std::int64_t>{0, 1024}, {64, 8192}}) {
      const auto cost = runnel::bench::digits_cost(model, chunk, tick, 5);
      if (!cost.ok()) {
        fmt::print(stderr, "batch_bench: {}\n", cost.status().text());
        return 1;
      }
      pure = std::min(pure, *cost);
    }
    // As long as the run it is compared with, so that other programs interrupt both alike.
    const auto mean = runnel::bench::digits_mean_cost(model, 64, 8192, audio / 2);
    const Usage warm = run({batch(folder / "clips", "one.jsonl", {"--jobs", "1"})});
    const auto mean_after = runnel::bench::digits_mean_cost(model, 64, 8192, audio / 2);
    if (!mean.ok() || !mean_after.ok()) return 1;
    const double one = warm.processor / audio;
    shares.push_back(pure / one);
    even_shares.push_back((*mean + *mean_after) / 2 / one);
    forget(folder / "clips");
    cold.push_back(warm.wall / run({batch(folder / "clips", "cold.jsonl", {"--jobs", "1"})}).wall);
    end_to_end.push_back(one);
    compute.push_back(pure);
    const double apart = run({batch(folder / "clips", "a.jsonl", {"--jobs", "1", "--shard", "0/2"}),
                              batch(folder / "clips", "b.jsonl", {"--jobs", "1", "--shard", "1/2"})})
                             .wall;
    scaling.push_back(apart / run({batch(folder / "clips", "two.jsonl", {"--jobs", "2"})}).wall);
  }

  // One recording under many names: only the list grows.
  write_wav(folder / "short.wav", words(1, 1), kRate / 5);
  for (const int many : {1000, 20000}) {
    fs::create_directory(folder / std::to_string(many));
    for (int i = 0; i < many; ++i)
      fs::create_hard_link(folder / "short.wav", folder / std::to_string(many) / fmt::format("{:05}.wav", i));
  }
  const Usage few = run({batch(folder / "1000", "few.jsonl", {"--jobs", "1"})}),
              many = run({batch(folder / "20000", "many.jsonl", {"--jobs", "1"})});
  write_wav(folder / "minute.wav", {}, kRate * 60);
  write_wav(folder / "day.wav", {}, static_cast<std::int64_t>(hours * 3600) * kRate);
  const Usage minute = run({batch(folder / "minute.wav", "minute.jsonl", {"--jobs", "1"})}),
              day = run({batch(folder / "day.wav", "day.jsonl", {"--jobs", "1"})});
  fs::remove_all(folder);

  fmt::print("| measured | value | goal |\n|---|---:|---|\n");
  // On a busy machine minimum times are the most reliable: nothing makes a run faster than it is.
  const double least = *std::min_element(compute.begin(), compute.end()) /
                       *std::min_element(end_to_end.begin(), end_to_end.end());
  row("end to end / the graph alone (rates of processor time), of the least", least, "", "at least 0.70");
  row("the same, median of the rounds", median(shares), "", "at least 0.70");
  row("the same, the graph over as much sound as the files have, median", median(even_shares), "",
      "at least 0.70");
  row("two jobs / two processes (rate)", median(scaling), "", "at least 0.95");
  row("from the disk / from the page cache (rate)", median(cold), "", "");
  for (const auto& [chunk, sessions] : {std::pair<std::int64_t, std::size_t>{1, 8}, {16, 8}, {64, 8}}) {
    const auto gain = runnel::bench::digits_joint_gain(model, chunk, sessions, 15);
    if (gain.ok())
      fmt::print(
          "| {} streams of the network stepped together / in turn, blocks of {} frames (rate) | "
          "{:.3f} | |\n",
          sessions, chunk, *gain);
  }
  row("peak memory of 20,000 recordings / 1,000", many.peak_mb / few.peak_mb, "", "flat");
  fmt::print("| peak memory of {:g} h / 1 min | {:.3f} | flat |\n", hours, day.peak_mb / minute.peak_mb);
  row("processor time of an hour of audio, end to end", 3600 * median(end_to_end), " s", "");
  row("of that the graph alone", 3600 * median(compute), " s", "");
  fmt::print("| times real time on one core | {:.0f} | |\n", 1 / median(end_to_end));
  fmt::print("| the long recording ({:g} h), times real time | {:.0f} | |\n", hours, hours * 3600 / day.wall);
  row("overhead of a recording of 0.2 s", 1e3 * (many.processor - few.processor) / 19000, " ms", "");
  row("peak memory with 1,000 recordings", few.peak_mb, " MB", "");
  row("peak memory with 20,000 recordings", many.peak_mb, " MB", "");
  row("peak memory with a recording of 1 minute", minute.peak_mb, " MB", "");
  fmt::print("| peak memory with one of {:g} h | {:.3f} MB | |\n", hours, day.peak_mb);
}
