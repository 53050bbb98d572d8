// What starting the program costs: processor time, peak memory, and the time until the first line of its
// output. Several programs, for example of two builds, run in turn.
//
//     start_bench MODEL RECORDING PROGRAM...
//
// Prints a table for docs/speed.md. It is small itself: the system counts the memory of the process that
// starts a program as the program's.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 101;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double milliseconds(const timeval& time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

struct Cost {
  std::vector<double> processor, first_line;  // ms
  long kilobytes = 0;
};

// Runs the program once; false where it fails.
bool start(const std::vector<std::string>& call, Cost& cost) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return false;
  std::vector<char*> arguments;
  for (const std::string& argument : call) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const double begin = now();
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  char bytes[4096];
  double first = 0;
  while (read(pipe_ends[0], bytes, sizeof bytes) > 0) {
    if (first == 0) first = now() - begin;
  }
  close(pipe_ends[0]);
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return false;
  cost.processor.push_back(milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime));
  cost.first_line.push_back(first);
  cost.kilobytes = std::max(cost.kilobytes, usage.ru_maxrss);
  return true;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}
double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "start_bench MODEL RECORDING PROGRAM...\n");
    return 2;
  }
  const std::vector<std::string> programs(argv + 3, argv + argc);
  const std::vector<std::vector<std::string>> calls = {{"--version"}, {"listen", argv[1], "--wav", argv[2]}};
  std::printf(
      "| call | program | processor time, ms | least | peak memory, MB | first line after, ms | least |\n"
      "|---|---|---:|---:|---:|---:|---:|\n");
  for (const std::vector<std::string>& call : calls) {
    std::vector<Cost> costs(programs.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < programs.size(); ++i) {
        std::vector<std::string> whole = {programs[i]};
        whole.insert(whole.end(), call.begin(), call.end());
        if (!start(whole, costs[i])) {
          std::fprintf(stderr, "start_bench: %s %s failed\n", programs[i].c_str(), call[0].c_str());
          return 1;
        }
      }
    }
    for (std::size_t i = 0; i < programs.size(); ++i) {
      std::printf("| `%s` | %s | %.2f | %.2f | %.1f | %.2f | %.2f |\n", call[0].c_str(), programs[i].c_str(),
                  median(costs[i].processor), least(costs[i].processor),
                  static_cast<double>(costs[i].kilobytes) / 1024, median(costs[i].first_line),
                  least(costs[i].first_line));
    }
  }
  return 0;
}
