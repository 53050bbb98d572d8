// The contract of a node, checked for every device node in a chain after a source that loses samples: any
// tick gives the same bits, a gap starts everything anew on the grid of the recording, a restart forgets,
// delays are those stated, running allocates nothing. What the checks find is proven with nodes broken on
// purpose.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/host/graph.h"
#include "pipeline/nodes/nodes.h"
#include "tests/pipeline/node_chains.h"
#include "tests/pipeline/support.h"
#include "tests/support/allocations.h"

namespace runnel::pipeline::test {
namespace {

// Older nodes; the test of a new one declares its own (tests/pipeline/node_chains.h).
constexpr std::string_view kChains[] = {
    "gain db=-6",
    "highpass cutoff=80",
    "preemphasis",
    "dither seed=3",
    "levels",
    "stft",
    "stft ! istft",
    "fbank preset=whisper",
    "fbank preset=whisper log_max=running",
    "fbank kind=spectrogram",
    "fbank ! deltas",
    "fbank ! deltas order=1 with_static=false",
    "fbank ! stack",
    "fbank ! stack frames=4 step=2 pad=false",
    "fbank ! cmvn mode=sliding window=20 min_window=5",
    "fbank ! cmvn mode=sliding center=true window=9",
    "fbank ! cmvn mode=mirror window=11",
    "fbank ! cmvn mode=exponential frames=20",
    "fbank ! cmvn mode=utterance",
    "preemphasis coefficient=0.98 ! fbank preset=edge-impulse-mfcc ! cmvn mode=mirror window=101",
    "downmix",
    "resample rate=11025",
    "microfrontend",
    "framing window=25ms hop=10ms",
    "statistics window=25ms hop=10ms statistics=mean,rms,zero_crossings",
    "stft n_fft=64 hop_length=32 ! framing window=3 hop=3 ! mask"};
// Tested in files of their own: with several inputs, with models, without an output.
constexpr std::string_view kElsewhere[] = {"join", "infer", "detect", "ctc", "transducer", "null"};

std::vector<std::string_view> all_chains() {
  std::vector<std::string_view> chains(std::begin(kChains), std::end(kChains));
  chains.insert(chains.end(), NodeChain::all().begin(), NodeChain::all().end());
  return chains;
}

// A new node cannot be forgotten.
TEST(NodeContract, HasEveryDeviceNode) {
  const std::vector<std::string_view> chains = all_chains();
  for (const NodeType* type : device_nodes()) {
    const bool elsewhere =
        std::find(std::begin(kElsewhere), std::end(kElsewhere), type->name) != std::end(kElsewhere);
    const bool here = std::any_of(chains.begin(), chains.end(), [&](std::string_view chain) {
      for (std::size_t at = 0; at != std::string_view::npos; at = chain.find("! ", at + 1)) {
        const std::string_view rest = chain.substr(at == 0 ? 0 : at + 2);
        if (rest.substr(0, rest.find(' ')) == type->name) return true;
      }
      return false;
    });
    EXPECT_TRUE(here != elsewhere) << "the node " << type->name
                                   << ": declare a NodeChain with it in its test";
  }
}

// ---- nodes that are broken on purpose: they pass sound on, but for the fault

enum class Fault {
  none,
  depends_on_tick,
  keeps_state_over_reset,
  keeps_state_over_gap,
  holds_back,
  allocates
};

template <Fault kFault>
class Faulty final : public Node {
 public:
  static const NodeType type;

  Status prepare(NodeContext& context) noexcept override {
    context.max_output = context.max_input + 1;
    return {};
  }
  std::int64_t reset(std::int64_t first) noexcept override {
    const bool keeps = kFault == Fault::keeps_state_over_reset
                           ? first == 0
                           : kFault == Fault::keeps_state_over_gap && first != 0;
    if (!keeps) counted_ = 0;
    next_ = first;
    held_ = false;
    return first;
  }
  Status process(const Block& in, Output& out) noexcept override {
    out.first = next_;
    for (std::int64_t i = 0; i < in.count; ++i) {
      float value = in.as<float>()[i];
      if (kFault == Fault::depends_on_tick) value += static_cast<float>(i);
      if (kFault == Fault::keeps_state_over_reset || kFault == Fault::keeps_state_over_gap)
        value += static_cast<float>(counted_++);
      if (held_) out.as<float>()[out.count++] = last_;
      // Silence comes out at once, sound one sample late.
      held_ = kFault == Fault::holds_back && value != 0;
      last_ = value;
      if (!held_) out.as<float>()[out.count++] = value;
    }
    next_ += out.count;
    if (kFault == Fault::allocates) ::operator delete(::operator new(16));
    return {};
  }
  Status flush(Output& out) noexcept override {
    out.first = next_;
    if (held_) out.as<float>()[out.count++] = last_;
    held_ = false;
    out.end = true;
    return {};
  }

 private:
  std::int64_t next_ = 0, counted_ = 0;
  float last_ = 0;
  bool held_ = false;
};
template <Fault kFault>
const NodeType Faulty<kFault>::type = {
    .name = std::array{"faultless", "tick", "restart", "gap", "late", "allocating"}[static_cast<int>(kFault)],
    .help = "Passes sound on.",
    .input = {static_cast<Kinds>(Kind::audio), "sound"},
    .output = {static_cast<Kinds>(Kind::audio), "sound"},
    .parameters = {},
    .make = make_node<Faulty>};

// A sink that keeps what it got, byte for byte.
class Collect final : public Node {
 public:
  static const NodeType type;
  static std::vector<std::int64_t> indices;
  static std::vector<std::byte> bytes;

  Status prepare(NodeContext& context) noexcept override {
    frame_ = static_cast<std::ptrdiff_t>(context.input.frame_bytes());
    indices.clear();
    bytes.clear();
    return {};
  }
  Status process(const Block& in, Output&) noexcept override {
    for (std::int64_t i = 0; i < in.count; ++i) indices.push_back(in.first + i);
    bytes.insert(bytes.end(), in.data, in.data + in.count * frame_);
    return {};
  }

 private:
  std::ptrdiff_t frame_ = 0;
};
const NodeType Collect::type = {.name = "collect",
                                .help = "Keeps frames.",
                                .input = {Kind::audio | Kind::frames, "anything"},
                                .output = {},
                                .parameters = {},
                                .make = make_node<Collect>};
std::vector<std::int64_t> Collect::indices;
std::vector<std::byte> Collect::bytes;

NodeTable contract_nodes() {
  static const std::vector<const NodeType*> nodes = [] {
    std::vector<const NodeType*> all(test_nodes().begin(), test_nodes().end());
    all.insert(all.end(),
               {&Collect::type, &Faulty<Fault::none>::type, &Faulty<Fault::depends_on_tick>::type,
                &Faulty<Fault::keeps_state_over_reset>::type, &Faulty<Fault::keeps_state_over_gap>::type,
                &Faulty<Fault::holds_back>::type, &Faulty<Fault::allocates>::type});
    return all;
  }();
  return nodes;
}

// ---- the checks

constexpr std::int64_t kSamples = 9000;
using Violations = std::vector<std::string>;

struct Heard {
  std::vector<std::int64_t> indices;
  std::vector<std::byte> bytes;
  friend bool operator==(const Heard&, const Heard&) = default;
};

class Contract {
 public:
  explicit Contract(std::string_view chain) : text_("lossy ! " + std::string(chain) + " ! collect") {
    for (const std::int16_t sample : make_samples(kSamples))
      samples_.push_back(static_cast<float>(sample) / 32768);
  }
  ~Contract() { Lossy::samples.clear(); }
  Violations violations() {
    const std::vector<Loss> losses = {{900, 37}, {3000, 1500}};
    const Heard whole = run(100000, {}), gaps = run(100000, losses);
    if (whole.indices.empty()) return {"nothing comes out"};
    for (const std::int64_t tick : {1, 7, 160, 1000}) {
      if (!(run(tick, {}) == whole)) found_.push_back("tick " + std::to_string(tick) + " differs");
      if (!(run(tick, losses) == gaps))
        found_.push_back("tick " + std::to_string(tick) + " differs in a recording with gaps");
    }
    check_gap(gaps, run(100000, {{0, losses[1].at + losses[1].count}}));
    check_grid(whole);
    check_restart(losses, run(160, losses));
    check_delay();
    for (float& sample : samples_) sample = -sample / 2 + 0.01F;
    if (run(100000, {}).bytes == whole.bytes) found_.push_back("different sound gives the same output");
    return found_;
  }

 private:
  std::unique_ptr<Graph> build(std::int64_t tick, const std::vector<Loss>& losses) {
    Lossy::sample_rate = 16000;
    Lossy::samples = samples_;
    Lossy::losses = losses;
    GraphOptions options;
    options.nodes = contract_nodes();
    options.tick = tick;
    auto graph = Graph::build(text_, options);
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    return graph.ok() ? std::move(graph).value() : nullptr;
  }
  // Through the interface of devices; the host's step() measures time and more.
  bool step_to_the_end(Executor& executor) {
    bool done = false, good = true;
    while (!done && good) good = executor.step(done).ok();
    if (!good) found_.push_back("a step fails");
    return good;
  }
  static Heard heard() { return {Collect::indices, Collect::bytes}; }

  Heard run(std::int64_t tick, const std::vector<Loss>& losses) {
    const std::unique_ptr<Graph> graph = build(tick, losses);
    if (graph == nullptr || !step_to_the_end(graph->executor())) return {};
    return heard();
  }

  // After a gap frames are those of a stream that starts there.
  void check_gap(const Heard& gaps, const Heard& fresh) {
    if (fresh.indices.empty()) return found_.push_back("nothing comes out after a gap");
    const auto at =
        std::find(gaps.indices.begin(), gaps.indices.end(), fresh.indices[0]) - gaps.indices.begin();
    const std::size_t width = fresh.bytes.size() / fresh.indices.size(), skip = static_cast<std::size_t>(at);
    const Heard rest{
        {gaps.indices.begin() + at, gaps.indices.end()},
        {gaps.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(skip * width, gaps.bytes.size())),
         gaps.bytes.end()}};
    if (!(rest == fresh)) found_.push_back("gap: what follows is not what a fresh start gives");
  }
  // Without gaps every index comes once, from 0 on.
  void check_grid(const Heard& whole) {
    for (std::size_t i = 0; i < whole.indices.size(); ++i) {
      if (whole.indices[i] == static_cast<std::int64_t>(i)) continue;
      return found_.push_back("frame " + std::to_string(i) + " has the index " +
                              std::to_string(whole.indices[i]));
    }
  }
  // A run that is left in the middle leaves nothing. Its allocations are counted as well.
  void check_restart(const std::vector<Loss>& losses, const Heard& expected) {
    const std::unique_ptr<Graph> graph = build(160, losses);
    if (graph == nullptr) return;
    bool done = false;
    for (int i = 0; i < 20; ++i) static_cast<void>(graph->executor().step(done));
    Lossy::start_again();
    graph->executor().restart();
    Collect::indices.clear();
    Collect::bytes.clear();
    Collect::indices.reserve(expected.indices.size());
    Collect::bytes.reserve(expected.bytes.size());
    runnel::test::expect_that_allocations_are_counted();
    const std::size_t before = runnel::test::allocations_of_this_thread();
    step_to_the_end(graph->executor());
    if (runnel::test::allocations_of_this_thread() != before) found_.push_back("running allocates");
    if (!(heard() == expected)) found_.push_back("restart: something is left of what was heard before");
  }
  // Frames come with the sample that `runnel inspect` states, found there by a dry run over silence.
  void check_delay() {
    const std::unique_ptr<Graph> graph = build(1, {});
    if (graph == nullptr) return;
    const auto stated = output_delays(*graph, 1);
    if (!stated.ok()) return found_.push_back("delay: " + std::string(stated.status().text()));
    const Clock clock = graph->format(graph->size() - 2).clock;
    std::vector<std::int64_t> arrivals, ends;
    Collect::indices.clear();
    bool done = false;
    while (!done && graph->executor().step(done).ok() && graph->executor().samples() < kSamples) {
      for (; arrivals.size() < Collect::indices.size();) {
        ends.push_back(clock.end_sample(Collect::indices[arrivals.size()]));
        arrivals.push_back(graph->executor().samples());
      }
    }
    if (!stated->at(0).known) {
      if (!arrivals.empty()) found_.push_back("delay: stated that nothing comes before the end");
      return;
    }
    // The first frames may come later, when windows are still filling.
    constexpr std::size_t kStart = 16;
    if (arrivals.size() <= kStart) return;
    arrivals.erase(arrivals.begin(), arrivals.begin() + kStart);
    ends.erase(ends.begin(), ends.begin() + kStart);
    const std::int64_t longest = longest_delay(arrivals, ends, 1).total();
    if (longest != stated->at(0).total())
      found_.push_back("delay: " + std::to_string(longest) + " samples, stated " +
                       std::to_string(stated->at(0).total()));
  }

  std::string text_;
  std::vector<float> samples_;
  Violations found_;
};

std::string text_of(const Violations& found) {
  std::string text;
  for (const std::string& violation : found) text += "\n  " + violation;
  return text;
}

TEST(NodeContract, HoldsForEveryDeviceNode) {
  for (const std::string_view chain : all_chains()) {
    const Violations found = Contract(chain).violations();
    EXPECT_TRUE(found.empty()) << chain << ":" << text_of(found);
  }
}

// Each fault is found by the check that is meant for it, and by no other.
TEST(NodeContract, NoticesBrokenNodes) {
  EXPECT_EQ(text_of(Contract("faultless").violations()), "");
  const auto expect = [](std::string_view node, std::string_view check) {
    const Violations found = Contract(node).violations();
    EXPECT_FALSE(found.empty()) << node;
    for (const std::string& violation : found)
      EXPECT_NE(violation.find(check), std::string::npos) << node << ": " << violation;
  };
  expect("tick", "tick ");
  expect("restart", "restart: ");
  expect("gap", "gap: ");
  expect("late", "delay: ");
  if (runnel::test::allocations_are_counted()) expect("allocating", "running allocates");
}

}  // namespace
}  // namespace runnel::pipeline::test
