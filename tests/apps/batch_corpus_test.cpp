// A whole corpus in every way that there is to work through it: the same bytes come out.
//
// RUNNEL_CORPUS_FILES: recordings (default 20,000). RUNNEL_NEEDS_ENGINES=1: GNU parallel, Slurm and Open MPI
// have to be there; without it those that are missing are left out, and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "tests/apps/corpus.h"
#include "tests/apps/killing.h"
#include "tests/apps/support.h"

namespace runnel::apps::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kLimit = 1200;  // seconds for one call

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class BatchCorpus : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  std::vector<std::string> arguments(const std::string& output, std::vector<std::string> more) const {
    std::vector<std::string> all = {"batch",      model(), file("corpus"), "-o",  file(output), "--no-timing",
                                    "--progress", "0",     "--decision",   kEager};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Output call_long(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), runnel::test::program());
    return runnel::test::run_program(arguments, kLimit);
  }
  // Some recordings fail, so the exit code is 1.
  std::string run(const std::string& output, const std::vector<std::string>& more) const {
    const Output ended = call_long(arguments(output, more));
    EXPECT_EQ(ended.exit_code, 1) << ended.err;
    return read_text(file(output));
  }
  // Whether these programs are there.
  static bool has(const std::vector<std::string>& programs, const char* engine) {
    for (const std::string& program : programs) {
      if (runnel::test::run_program({"/bin/sh", "-c", "command -v " + program}).exit_code == 0) continue;
      if (std::getenv("RUNNEL_NEEDS_ENGINES") != nullptr)
        ADD_FAILURE() << engine << " is required but " << program << " is not there";
      std::fprintf(stderr, "LEFT OUT: %s (%s is not there)\n", engine, program.c_str());
      return false;
    }
    return true;
  }
  static std::string example(const std::string& name) {
    return std::string(RUNNEL_SOURCE_FOLDER) + "/examples/cluster/" + name;
  }
  // An example job. In its path is a program that decides as the runs above and says nothing about time.
  void expect_job(const std::vector<std::string>& command, const std::string& output,
                  const std::string& expected) const {
    fs::create_directories(file("bin"));
    write_text(file("bin/runnel"), "#!/bin/sh\nverb=$1\nshift\ncase $verb in\nbatch) exec '" +
                                       runnel::test::program() + "' batch --no-timing --decision '" + kEager +
                                       "' \"$@\" ;;\n*) exec '" + runnel::test::program() +
                                       "' \"$verb\" \"$@\" ;;\nesac\n");
    fs::permissions(file("bin/runnel"), fs::perms::owner_all);
    const std::string path = file("bin") + ":" + std::getenv("PATH");
    std::vector<std::string> all = {"/usr/bin/env", "PATH=" + path, "OMPI_ALLOW_RUN_AS_ROOT=1",
                                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
    all.insert(all.end(), command.begin(), command.end());
    const Output ended = runnel::test::run_program(all, kLimit);
    ASSERT_EQ(ended.exit_code, 0) << ended.out << ended.err;
    EXPECT_TRUE(read_text(file(output)) == expected) << output;
  }
  void told(const char* what) {
    std::fprintf(stderr, "%-44s %6.1f s\n", what, seconds_since(last_));
    last_ = Clock::now();
  }
  runnel::test::TemporaryFolder folder_;
  Clock::time_point last_ = Clock::now();
};

TEST_F(BatchCorpus, EveryWayGivesTheSameBytes) {
  const char* const asked = std::getenv("RUNNEL_CORPUS_FILES");
  const std::int64_t count = asked != nullptr ? std::atoll(asked) : 20000;
  ASSERT_GE(count, 1200) << "each way to break a recording has to occur";
  const CorpusFacts facts = make_corpus(file("corpus"), count, 20240611);
  ASSERT_FALSE(HasFailure());
  std::fprintf(stderr, "%lld recordings, %.2f hours, %.2f GB, %lld broken, %lld empty\n",
               static_cast<long long>(facts.recordings), facts.audio_seconds / 3600,
               static_cast<double>(facts.bytes) * 1e-9, static_cast<long long>(facts.broken),
               static_cast<long long>(facts.empty));
  EXPECT_LE(facts.audio_seconds, 8 * 3600);
  EXPECT_LE(facts.bytes, 2'000'000'000U);
  told("making the corpus");

  const std::string expected = run("one.jsonl", {"--jobs", "1"});
  const double whole = seconds_since(last_);
  told("one job");
  const auto records = json_lines(expected);
  ASSERT_FALSE(records.empty());
  const Json& summary = records.back();
  std::int64_t errors = 0, events = 0, by_reason = 0;
  for (const Json& record : records) {
    errors += record["type"] == "error" ? 1 : 0;
    events += record["type"] == "event" ? 1 : 0;
  }
  for (const Json& reason : summary["failures_by_reason"]) by_reason += reason.get<std::int64_t>();
  EXPECT_EQ(summary["files"], facts.recordings);
  EXPECT_EQ(facts.recordings, count);
  EXPECT_EQ(facts.broken, count / 100);
  EXPECT_EQ(errors, facts.broken + facts.empty);
  EXPECT_EQ(summary["failures"], errors);
  EXPECT_EQ(by_reason, errors);
  EXPECT_EQ(summary["events"], events);
  EXPECT_GT(events, 0);
  EXPECT_EQ(summary["lost_samples"], 0);
  EXPECT_GE(summary["audio_seconds"].get<double>(), facts.audio_seconds - 0.001);
  EXPECT_LE(summary["audio_seconds"].get<double>(), facts.audio_seconds + facts.broken_seconds + 0.001);

  // Compared as a truth value, so that a failure does not print both.
  EXPECT_TRUE(run("two.jsonl", {"--jobs", "2"}) == expected);
  told("two jobs");

  std::vector<std::string> merge = {"merge"};
  for (int i = 0; i < 7; ++i) {
    run("shard" + std::to_string(i) + ".jsonl", {"--jobs", "2", "--shard", std::to_string(i) + "/7"});
    merge.push_back(file("shard" + std::to_string(i) + ".jsonl"));
  }
  merge.insert(merge.end(), {"-o", file("merged.jsonl")});
  EXPECT_EQ(call_long(merge).exit_code, 0);
  EXPECT_TRUE(read_text(file("merged.jsonl")) == expected);
  told("seven shards, merged");

  std::mt19937 random(static_cast<unsigned>(Clock::now().time_since_epoch().count()));
  int kills = 0;
  for (int round = 0; round < 80 && kills < 10; ++round) {
    // Spread over what the run takes; where it was faster than ten kills, it begins anew.
    const auto after =
        std::chrono::milliseconds(10 + random() % static_cast<unsigned>(std::max(20.0, 1000 * whole / 10)));
    if (run_and_kill(arguments("killed.jsonl", {"--jobs", "2", "--resume"}), after)) {
      EXPECT_TRUE(read_text(file("killed.jsonl")) == expected);
      fs::remove(file("killed.jsonl"));
      fs::remove(file("killed.jsonl.journal"));
    } else {
      ++kills;
    }
  }
  EXPECT_EQ(kills, 10);
  EXPECT_TRUE(run("killed.jsonl", {"--jobs", "2", "--resume"}) == expected);
  told("ten kills, resumed");

  if (has({"parallel"}, "GNU parallel")) {
    expect_job({example("gnu_parallel.sh"), model(), file("corpus"), file("parallel"), "4", "-j2"},
               "parallel/all.jsonl", expected);
    told("GNU parallel");
  }
  if (has({"sbatch", "slurmctld", "slurmd", "munged"}, "Slurm")) {
    // The path of a socket is short.
    const std::string folder = "/tmp/runnel-slurm-" + std::to_string(getpid());
    expect_job({std::string(RUNNEL_SOURCE_FOLDER) + "/tests/apps/slurm_host.sh", folder,
                example("slurm_array.sh"), model(), file("corpus"), file("slurm"), "4"},
               "slurm/all.jsonl", expected);
    fs::remove_all(folder);
    told("Slurm, two nodes");
  }
  if (has({"mpirun"}, "Open MPI")) {
    expect_job({example("mpirun.sh"), model(), file("corpus"), file("mpi"), "2", "--oversubscribe"},
               "mpi/all.jsonl", expected);
    told("Open MPI");
  }
}

}  // namespace
}  // namespace runnel::apps::test
