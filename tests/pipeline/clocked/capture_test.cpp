// Capture from the virtual card: nothing is lost that is not accounted for, and the capture thread does
// nothing but capture.
#include <alsa/asoundlib.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "pipeline/host/latency.h"
#include "pipeline/nodes/host/live/live_source.h"
#include "tests/pipeline/clocked/virtual_clock.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

runnel::pipeline::test::VirtualClock runnel_virtual_clock;  // its linkage is that of the header

namespace {

// The thread that reads a device, from its first read on; and whether it is inside the device.
thread_local bool is_capture = false, in_device = false, is_processing = false;
// The device had no samples when it was asked last: a short sleep waits for it.
thread_local bool device_is_empty = false;
std::atomic<bool> counting{false};
constexpr std::int64_t kJudgedReads = 100000;
std::atomic<std::int64_t> allocations{0}, locks{0}, sleeps{0}, polls{0}, transfers{0}, reads{0},
    processing_allocations{0};

void count(std::atomic<std::int64_t>& what, bool also_in_device = false) {
  // What follows the last block that is judged may fill the queue; then the thread sleeps.
  if (is_capture && counting && reads < kJudgedReads && (also_in_device || !in_device)) ++what;
  if (is_processing && counting && &what == &allocations) ++processing_allocations;
}

struct InDevice {
  bool outer = in_device;
  InDevice() { in_device = true; }
  ~InDevice() { in_device = outer; }
};

template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
// The function of that name after this program.
#define REAL(name) static const auto real = next(&name, #name)

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* malloc(std::size_t bytes) noexcept {
  count(allocations, true);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) noexcept {
  count(allocations, true);
  return __libc_calloc(number, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  count(allocations, true);
  return __libc_realloc(memory, bytes);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!runnel_virtual_clock.on) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const std::int64_t now = runnel_virtual_clock.nanoseconds;
  *time = {now / 1000000000, now % 1000000000};
  return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  REAL(pthread_mutex_lock);
  count(locks);
  return real(mutex);
}
int nanosleep(const timespec* time, timespec* left) {
  REAL(nanosleep);
  if (!device_is_empty) count(sleeps);
  return real(time, left);
}
int poll(pollfd* descriptors, nfds_t number, int timeout) {
  REAL(poll);
  count(polls);
  return real(descriptors, number, timeout);
}
ssize_t read(int file, void* to, std::size_t bytes) {
  REAL(read);
  count(transfers);
  return real(file, to, bytes);
}
ssize_t write(int file, const void* from, std::size_t bytes) {
  REAL(write);
  count(transfers);
  return real(file, from, bytes);
}

snd_pcm_sframes_t snd_pcm_readi(snd_pcm_t* pcm, void* to, snd_pcm_uframes_t frames) {
  REAL(snd_pcm_readi);
  is_capture = true;
  device_is_empty = false;
  if (counting) ++reads;
  const InDevice inside;
  return real(pcm, to, frames);
}
int snd_pcm_wait(snd_pcm_t* pcm, int timeout) {
  REAL(snd_pcm_wait);
  const InDevice inside;
  return real(pcm, timeout);
}
int snd_pcm_htimestamp(snd_pcm_t* pcm, snd_pcm_uframes_t* available, snd_htimestamp_t* time) {
  REAL(snd_pcm_htimestamp);
  const InDevice inside;
  return real(pcm, available, time);
}
snd_pcm_sframes_t snd_pcm_avail_update(snd_pcm_t* pcm) {
  REAL(snd_pcm_avail_update);
  const InDevice inside;
  const snd_pcm_sframes_t available = real(pcm);
  device_is_empty = available == 0;
  return available;
}

}  // extern "C"

namespace runnel::pipeline::test {
namespace {

class Capture : public testing::Test {
 protected:
  // 20 s of samples, none of which looks like its neighbours.
  static constexpr std::int64_t kSamples = 320000;

  void SetUp() override {
    samples_ = make_samples(static_cast<std::size_t>(kSamples));
    std::ofstream(raw_, std::ios::binary)
        .write(reinterpret_cast<const char*>(samples_.data()),
               static_cast<std::streamsize>(samples_.size() * 2));
  }
  void TearDown() override { runnel_virtual_clock.on = counting = false; }

  // A card with these options, and the clock of its stream at zero.
  void plug_in(const std::string& card, bool virtual_time = true) {
    static int number = 0;
    const std::filesystem::path configuration =
        folder_.path() / ("asound" + std::to_string(++number) + ".conf");
    std::ofstream(configuration) << "</usr/share/alsa/alsa.conf>\npcm_type.clocked { lib \""
                                 << RUNNEL_CLOCKED_CARD << "\" }\npcm.mic { type clocked infile \""
                                 << raw_.string() << "\" " << (virtual_time ? "speed_percent 0 " : "") << card
                                 << " }\npcm.plugged { type plug slave.pcm \"mic\" }\n";
    setenv("ALSA_CONFIG_PATH", configuration.c_str(), 1);
    snd_config_update_free_global();
    VirtualClock& clock = runnel_virtual_clock;
    clock.card_started = clock.card_returns = -1;
    clock.stalled = clock.suspended = clock.unplugged = false;
    clock.nanoseconds = 1000000000000;
    clock.on = virtual_time;
  }
  static GraphOptions options() {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = 256;
    return result;
  }
  // Every sample that came is the one of its index, which holds only when every loss was counted exactly;
  // read and lost ones are all of them.
  void expect_accounted(const Graph& graph, std::int64_t produced) {
    std::int64_t lost = 0;
    for (const Gap& gap : Keep::gaps) lost += gap.lost;
    EXPECT_EQ(graph.executor().lost(), lost);
    EXPECT_EQ(graph.executor().samples() + lost, produced);
    ASSERT_EQ(static_cast<std::int64_t>(Keep::indices.size()), graph.executor().samples());
    for (std::size_t i = 0; i < Keep::indices.size(); ++i) {
      ASSERT_EQ(Keep::values[i],
                static_cast<float>(samples_[static_cast<std::size_t>(Keep::indices[i])]) / 32768)
          << "sample " << Keep::indices[i] << ", the " << i << "th that came";
    }
  }
  static CaptureFacts facts(const Graph& graph) {
    return dynamic_cast<const LiveSource&>(*graph.stage(0).node).capture_facts();
  }

  runnel::test::TemporaryFolder folder_;
  std::filesystem::path raw_ = folder_.path() / "in.raw";
  std::vector<std::int16_t> samples_;
};

TEST_F(Capture, GivesEverySample) {
  for (const std::string access : {"read", "mmap"}) {
    plug_in("");
    const auto graph = run_graph("alsa device=mic duration=20 access=" + access + " ! keep", options());
    expect_accounted(*graph, kSamples);
    EXPECT_EQ(graph->executor().lost(), 0) << access;
  }
}

TEST_F(Capture, TenTimesAsFastAsSound) {
  plug_in("speed_percent 1000", false);
  const auto start = std::chrono::steady_clock::now();
  const auto graph = run_graph("alsa device=mic duration=20 buffer=8000 period=100 ! keep", options());
  expect_accounted(*graph, kSamples);
  EXPECT_EQ(graph->executor().lost(), 0) << "8 s of buffer are 0.8 s";
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1900));
}

TEST_F(Capture, CountsWhatAStallLoses) {
  for (const std::int64_t stall : {3201, 8000, 40007}) {
    plug_in("stall_at 16000 stall " + std::to_string(stall));
    const auto graph = run_graph("alsa device=mic duration=20 buffer=200 ! keep", options());
    expect_accounted(*graph, kSamples);
    EXPECT_EQ(Keep::gaps.size(), 1u);
    EXPECT_EQ(facts(*graph).overruns, 1);
    EXPECT_EQ(facts(*graph).device_lost, graph->executor().lost());
    EXPECT_NEAR(static_cast<double>(graph->executor().lost()), static_cast<double>(stall), 3200)
        << "what the buffer held is lost too, what was read in time is not";
  }
  plug_in("stall_at 16000 stall 3000");
  EXPECT_EQ(run_graph("alsa device=mic duration=20 buffer=200 ! keep", options())->executor().lost(), 0)
      << "the buffer holds 3200";
}

TEST_F(Capture, CountsWhatASuspendLoses) {
  plug_in("suspend_at 32000 suspend 12345 stall_at 64000 stall 5000");
  const auto graph = run_graph("alsa device=mic duration=20 ! keep", options());
  expect_accounted(*graph, kSamples);
  EXPECT_EQ(Keep::gaps.size(), 2u);
  EXPECT_EQ(facts(*graph).suspends, 1);
  EXPECT_EQ(facts(*graph).overruns, 1);
  EXPECT_GE(graph->executor().lost(), 12345);
}

TEST_F(Capture, AnUnpluggedCardEndsTheStream) {
  plug_in("unplug_at 4000");
  const auto graph = run_graph("alsa device=mic ! keep", options());
  expect_accounted(*graph, 4000);
  EXPECT_NE(graph->stage(0).node->note().view().find("device mic was unplugged"), std::string_view::npos);
}

TEST_F(Capture, ACardThatIsPluggedInAgainGoesOn) {
  plug_in("unplug_at 4000 unplug 9000");
  const auto graph = run_graph("alsa device=mic duration=20 replug=60 ! keep", options());
  expect_accounted(*graph, kSamples);
  EXPECT_EQ(Keep::gaps.size(), 1u);
  EXPECT_EQ(facts(*graph).replugs, 1);
  EXPECT_GE(graph->executor().lost(), 9000);
  plug_in("unplug_at 4000");
  const auto short_wait = run_graph("alsa device=mic replug=0.3 ! keep", options());
  EXPECT_EQ(short_wait->executor().samples(), 4000) << "it never comes back";
}

TEST_F(Capture, DropsWhatTheQueueCannotHoldAndCountsIt) {
  for (const std::string overload : {"drop-oldest", "drop-newest"}) {
    plug_in("unplug_at 16000");
    auto graph =
        Graph::build("alsa device=mic queue=100 period=10 overload=" + overload + " ! keep", options());
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    bool done = false;
    ASSERT_TRUE((*graph)->step(done).ok());
    // Nobody takes the rest until the card is gone.
    while (facts(**graph).unplugs == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE((*graph)->run().ok());
    expect_accounted(**graph, 16000);
    EXPECT_EQ(facts(**graph).overload_lost, (*graph)->executor().lost()) << overload;
    EXPECT_EQ(facts(**graph).device_lost, 0);
    EXPECT_GE((*graph)->executor().samples(), 1440)
        << "the queue holds 100 ms, and one slot of 10 ms was being written";
    if (overload == "drop-oldest")
      EXPECT_EQ(Keep::indices.back(), 15999);
    else
      EXPECT_EQ(Keep::indices[1439], 1439);
  }
}

TEST_F(Capture, StopsWithWhatWasCaptured) {
  plug_in("");
  std::atomic<bool> stop{false};
  GraphOptions with_stop = options();
  with_stop.stop = &stop;
  auto graph = Graph::build("alsa device=mic queue=1000 ! keep", with_stop);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  ASSERT_TRUE((*graph)->step(done).ok());
  // The queue fills up meanwhile; what is in it belongs to the recording.
  while (facts(**graph).largest_backlog_ms < 900) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  ASSERT_TRUE((*graph)->run().ok());
  EXPECT_GE((*graph)->executor().samples(), 900 * 16);
  expect_accounted(**graph, (*graph)->executor().samples());
}

TEST_F(Capture, StartsAndStopsAThousandTimes) {
  plug_in("");
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  std::size_t bytes = 0;
  std::ptrdiff_t open = 0;
  for (int i = 0; i < 1000; ++i) {
    // What is there after some rounds is there after all.
    if (i == 100) {
      bytes = mallinfo2().uordblks;
      open = descriptors();
    }
    auto graph = Graph::build("alsa device=mic period=2 duration=0.02 realtime=no ! null", options());
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    ASSERT_TRUE((*graph)->run().ok());
  }
  EXPECT_EQ(descriptors(), open);
  EXPECT_LT(mallinfo2().uordblks, bytes + 100000) << "900 rounds later";
}

// From the last sample of what a frame looks at to the frame, in samples that the device had given by then:
// the longest equals the prediction.
TEST_F(Capture, TheDelayIsTheOneThatWasForetold) {
  const struct {
    const char* text;
    double period;
    std::int64_t samples;  // that the device gives at once
  } cases[] = {{"framing window=25ms hop=10ms ! keep", 10, 160},
               {"framing window=25ms hop=10ms ! keep", 16, 256},
               {"fbank preset=kaldi ! keep", 10, 160},
               {"resample rate=8000 ! framing window=32ms hop=20ms ! keep", 10, 160},
               {"fbank preset=kaldi ! keep", 30, 480}};
  for (const auto& one : cases) {
    SCOPED_TRACE(std::string(one.text) + ", a period of " + std::to_string(one.period) + " ms");
    plug_in("");
    GraphOptions by_periods = options();
    by_periods.tick = one.samples;
    auto graph = Graph::build(
        "alsa device=mic duration=20 buffer=2000 period=" + std::to_string(one.period) + " ! " + one.text,
        by_periods);
    ASSERT_TRUE(graph.ok()) << graph.status().text();
    ASSERT_EQ(facts(**graph).period, one.samples);
    const auto delays = output_delays(**graph, one.samples);
    ASSERT_TRUE(delays.ok()) << delays.status().text();
    ASSERT_EQ(delays->size(), 1u);
    ASSERT_TRUE((*delays)[0].known);
    EXPECT_LT((*delays)[0].device, one.samples);
    Keep::clear();
    const int deciding = (*graph)->inputs((*delays)[0].stage)[0];
    const Clock clock = (*graph)->format(deciding).clock;
    std::int64_t longest = 0, seen = 0;
    for (bool done = false; (*graph)->executor().samples() < kSamples - 1600 && !done;) {
      ASSERT_TRUE((*graph)->step(done).ok());
      for (; seen < (*graph)->executor().produced(deciding); ++seen) {
        if (seen >= 16) longest = std::max(longest, (*graph)->executor().samples() - clock.end_sample(seen));
      }
    }
    EXPECT_GT(seen, 400);
    EXPECT_EQ(longest, (*delays)[0].total());
    char said[64];
    std::snprintf(said, sizeof said, "keep: at most %.2f ms of sound after",
                  static_cast<double>(longest) / 16);
    EXPECT_NE((*graph)->latency().find(said), std::string::npos) << (*graph)->latency();
  }
}

// What is played comes whole to the card, also when it was too late for a moment, which is counted.
TEST_F(Capture, PlaysEverySampleThroughAnUnderrun) {
  const std::filesystem::path out = folder_.path() / "out.raw", wav = folder_.path() / "in.wav";
  const std::vector<std::int16_t> sound(samples_.begin(), samples_.begin() + 32000);
  write_recording(wav, sound);
  for (const bool late : {false, true}) {
    plug_in("outfile \"" + out.string() + "\"" + (late ? " stall_at 16000 stall 8000" : ""));
    GraphOptions with = options();
    std::string notes;
    with.note = [&](std::string_view note) { notes += note; };
    run_graph("wav path=" + wav.string() + " ! alsa device=mic", with);
    EXPECT_EQ(notes.find("device mic fell silent 1 time: sound did not come in time") != std::string::npos,
              late)
        << notes;
    const std::vector<std::byte> played = runnel::test::read_file(out), whole = runnel::test::read_file(raw_);
    EXPECT_TRUE(std::equal(played.begin(), played.end(), whole.begin(), whole.begin() + 64000))
        << late << ": " << played.size() << " bytes, " << notes;
  }
}

// A card of 100,000 blocks, and nothing but the device is called.
TEST_F(Capture, TheThreadNeitherAllocatesNorLocksNorCalls) {
  plug_in("");
  auto graph = Graph::build(
      "alsa device=mic period=2 buffer=500 queue=600000 name=mic ! history ! fbank preset=kaldi ! null mic. "
      "! framing window=25ms hop=10ms ! null",
      options());
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE((*graph)->step(done).ok());
  allocations = locks = sleeps = polls = transfers = reads = processing_allocations = 0;
  is_processing = counting = true;
  while (reads < kJudgedReads) ASSERT_TRUE((*graph)->step(done).ok());
  // As many blocks of 32 samples, processed.
  while ((*graph)->executor().samples() < 3200000) ASSERT_TRUE((*graph)->step(done).ok());
  is_processing = counting = false;
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  // It sleeps when its ring is full, which happens where this thread was kept from running for long.
  const double backlog = facts(**graph).largest_backlog_ms;
  EXPECT_TRUE(sleeps == 0 || backlog > 599000) << sleeps << " sleeps, at most " << backlog << " ms waiting";
  EXPECT_EQ(polls, 0);
  EXPECT_EQ(transfers, 0);
  EXPECT_EQ(processing_allocations, 0);
  EXPECT_EQ((*graph)->executor().lost(), 0);
}

}  // namespace
}  // namespace runnel::pipeline::test
