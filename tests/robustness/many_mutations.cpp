#include "tests/robustness/many_mutations.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <utility>

#include "tests/robustness/expect_sentence.h"
#include "tests/robustness/mutate.h"

namespace runnel::test {

constexpr std::int64_t kBatch = 500;

std::int64_t mutation_setting(const char* name, std::int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

// Those whose names contain RUNNEL_MUTATION_SUBJECT.
static std::vector<Subject> wanted(const std::vector<Subject>& all) {
  const char* const part = std::getenv("RUNNEL_MUTATION_SUBJECT");
  std::vector<Subject> some;
  for (const Subject& subject : all) {
    if (part == nullptr || subject.name.find(part) != std::string::npos) some.push_back(subject);
  }
  return some;
}

namespace {

using Clock = std::chrono::steady_clock;

// Seconds of processor time of this program: a busy machine makes no input slow.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Longest {
  double seconds = 0;
  std::uint64_t seed = 0;
  std::int64_t number = 0;  // in the batch of this seed
  std::string name;
  Bytes input;
};

// An input that takes far too long ends the program: what goes on for hours must not wait for ever.
constexpr int kMostSeconds = 20;
extern "C" void say_too_long(int) {
  constexpr char kSentence[] = "an input takes too long: the last batch above has it\n";
  static_cast<void>(!write(STDERR_FILENO, kSentence, sizeof kSentence - 1));
  std::abort();
}
class TooLong {
 public:
  TooLong() { std::signal(SIGVTALRM, say_too_long); }
  ~TooLong() {
    set(0);
    std::signal(SIGVTALRM, SIG_DFL);
  }
  TooLong(const TooLong&) = delete;
  TooLong& operator=(const TooLong&) = delete;

  void begin() const { set(kMostSeconds); }

 private:
  static void set(int seconds) {
    const itimerval after{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
    setitimer(ITIMER_VIRTUAL, &after, nullptr);
  }
};

void keep(const Longest& longest) {
  const char* const path = std::getenv("RUNNEL_MUTATION_KEEP");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(longest.input.data()),
             static_cast<std::streamsize>(longest.input.size()));
}

long peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// What gives parts to copy: another file of the same structure, if there is one.
const Subject& partner(const std::vector<Subject>& all, const Subject& subject, std::uint64_t seed) {
  std::vector<const Subject*> alike;
  for (const Subject& other : all) {
    if (other.change == subject.change) alike.push_back(&other);
  }
  return *alike[static_cast<std::size_t>(seed / all.size()) % alike.size()];
}

}  // namespace

void mutate_many(const std::vector<Subject>& given, std::int64_t count, std::int64_t seconds) {
  const std::vector<Subject> all = wanted(given);
  if (all.empty()) GTEST_SKIP() << "SKIPPED: nothing here is named as RUNNEL_MUTATION_SUBJECT says";
  count = mutation_setting("RUNNEL_MUTATIONS", count);
  seconds = mutation_setting("RUNNEL_MUTATION_SECONDS", seconds);
  auto seed = static_cast<std::uint64_t>(mutation_setting("RUNNEL_MUTATION_SEED", 1));
  const std::int64_t batch_seconds = mutation_setting("RUNNEL_MUTATION_BATCH", 1000000);
  const auto start = Clock::now();
  const double start_of_processor = processor_seconds();
  const auto late = [&] { return Clock::now() - start > std::chrono::seconds(seconds); };
  std::int64_t done = 0, refused = 0, structured = 0;
  Longest longest;
  const TooLong too_long;
  for (; done < count && !late(); ++seed) {
    const Subject& subject = all[static_cast<std::size_t>(seed) % all.size()];
    const Subject& other = partner(all, subject, seed);
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), subject.name.c_str());
    std::fflush(stdout);
    Mutator mutator(subject.file, seed);
    Random random(seed);
    const double end_of_batch = processor_seconds() + static_cast<double>(batch_seconds);
    for (std::int64_t i = 0; i < kBatch && done < count && !late() && processor_seconds() < end_of_batch;
         ++i, ++done) {
      std::optional<Bytes> bytes;
      if (subject.change != nullptr && i % 2 == 1) bytes = subject.change(subject.file, other.file, random);
      structured += bytes.has_value() ? 1 : 0;
      if (!bytes) bytes = mutator.next();
      too_long.begin();
      const double before = processor_seconds();
      refused += failed_with_a_sentence(subject.feed(*bytes)) ? 1 : 0;
      const double took = processor_seconds() - before;
      if (took > longest.seconds) longest = {took, seed, i, subject.name, std::move(*bytes)};
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  const double took = processor_seconds() - start_of_processor;
  std::printf(
      "%lld mutations, %lld with structure, %lld refused, %.1f s of the processor, %.0f a second, longest "
      "%.3f s "
      "(%s, number %lld of "
      "seed %llu), at "
      "most %ld MiB; go on with RUNNEL_MUTATION_SEED=%llu\n",
      static_cast<long long>(done), static_cast<long long>(structured), static_cast<long long>(refused), took,
      static_cast<double>(done) / std::max(took, 1e-9), longest.seconds, longest.name.c_str(),
      static_cast<long long>(longest.number), static_cast<unsigned long long>(longest.seed), peak_mebibytes(),
      static_cast<unsigned long long>(seed));
  keep(longest);
  testing::Test::RecordProperty("mutations", static_cast<int>(std::min<std::int64_t>(done, 2147483647)));
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, done / 50);
  EXPECT_LT(refused, done);
}

}  // namespace runnel::test
