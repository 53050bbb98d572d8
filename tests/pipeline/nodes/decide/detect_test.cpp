#include "pipeline/nodes/decide/detect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/pipeline/support.h"

namespace runnel::pipeline::test {
namespace {

GraphOptions with_tick(std::int64_t tick) { return {.nodes = test_nodes(), .tick = tick}; }

// Frames are [160 t, 160 t + 400).
std::unique_ptr<Graph> detect(const std::string& parameters, std::int32_t dims, std::vector<float> values,
                              std::int64_t tick = 7) {
  Rows::dims = dims;
  Rows::values = std::move(values);
  return run_graph("rows ! detect " + parameters + " ! keep", with_tick(tick));
}

// `count` frames of posterior p for class 1 of 3, the rest for class 0.
void append(std::vector<float>& values, int count, float p, int label = 1) {
  for (int i = 0; i < count; ++i) {
    for (int c = 0; c < 3; ++c) values.push_back(c == label ? p : c == 0 ? 1 - p : 0);
  }
}
const std::string kPosteriors = "activation=none labels=quiet,yes,no ignore=quiet ";

TEST(Detect, MakesAnEventWhenTheMovingAverageReachesTheThreshold) {
  std::vector<float> values;
  append(values, 10, 0);
  append(values, 10, 1);
  detect(kPosteriors + "smoothing_frames=4 threshold=0.7 refractory_frames=1", 3, values);
  ASSERT_EQ(Keep::events.size(), 1u);
  const Event& event = Keep::events[0];
  EXPECT_EQ(Keep::labels[0], "yes");
  EXPECT_EQ(event.frame, 12) << "3 of 4 frames";
  EXPECT_FLOAT_EQ(event.score, 0.75f);
  EXPECT_EQ(event.begin, 10 * 160) << "the first frame that was the label by itself";
  EXPECT_EQ(event.end, 12 * 160 + 400) << "when the decision could be made";
}

TEST(Detect, CountsMissingFramesAtTheStartAsZero) {
  std::vector<float> values;
  append(values, 10, 1);
  detect(kPosteriors + "smoothing_frames=8 threshold=0.5 refractory_frames=1", 3, values);
  ASSERT_EQ(Keep::events.size(), 1u);
  EXPECT_EQ(Keep::events[0].frame, 3) << "4 of 8 frames, 4 of them before the start";
  EXPECT_EQ(Keep::events[0].begin, 0);
}

TEST(Detect, WakeWordsNeedQuietFramesBehindAnEventAndMeansThatStartAnew) {
  const auto said = [](std::initializer_list<std::pair<int, float>> parts) {
    std::vector<float> values;
    for (const auto& [count, p] : parts) values.insert(values.end(), static_cast<std::size_t>(count), p);
    return values;
  };
  const std::string mode =
      "mode=wake-word activation=none labels=hey smoothing_frames=3 threshold=0.9 release=0.5 "
      "refractory_frames=4 ";
  const auto frames = [] {
    std::vector<std::int64_t> all;
    for (const Event& event : Keep::events) all.push_back(event.frame);
    return all;
  };
  using Frames = std::vector<std::int64_t>;
  for (const std::int64_t tick : {1, 7, 1000}) {
    detect(mode, 1, said({{2, 0}, {20, 1}}), tick);
    EXPECT_EQ(frames(), Frames{4}) << "no quiet frame after the event";
    EXPECT_EQ(Keep::events[0].begin, 2 * 160);
    detect(mode, 1, said({{2, 0}, {3, 1}, {3, 0.2f}, {6, 1}}), tick);
    EXPECT_EQ(frames(), Frames{4}) << "three quiet frames of four";
    detect(mode, 1, said({{2, 0}, {3, 1}, {2, 0.2f}, {2, 0.6f}, {2, 0.2f}, {6, 1}}), tick);
    EXPECT_EQ(frames(), (Frames{4, 13})) << "four, and 0.6 is not quiet; the mean of three starts anew";
    detect(mode + "warm_up_frames=3", 1, said({{2, 0}, {5, 1}, {1, 0}, {5, 1}}), tick);
    EXPECT_EQ(frames(), Frames{10}) << "two quiet frames of three before the first word";
  }
}

TEST(Detect, RearmsBelowTheReleaseOnly) {
  std::vector<float> values;
  for (const float p : {1.0f, 0.6f, 1.0f, 0.4f, 1.0f, 1.0f}) append(values, 1, p);
  detect(kPosteriors + "smoothing_frames=1 threshold=0.9 release=0.5 refractory_frames=1", 3, values);
  ASSERT_EQ(Keep::events.size(), 2u);
  EXPECT_EQ(Keep::events[0].frame, 0);
  EXPECT_EQ(Keep::events[1].frame, 4) << "0.6 is not below the release, 0.4 is";
}

TEST(Detect, GivesAnotherLabelWithoutRearmingButNotWithinTheRefractoryTime) {
  std::vector<float> values;
  append(values, 3, 1, 1);
  append(values, 6, 1, 2);
  detect(kPosteriors + "smoothing_frames=1 threshold=0.9 refractory_frames=5", 3, values);
  ASSERT_EQ(Keep::events.size(), 2u);
  EXPECT_EQ(Keep::labels[1], "no");
  EXPECT_EQ(Keep::events[1].frame, 5);
}

TEST(Detect, IgnoresLabels) {
  std::vector<float> values;
  append(values, 20, 1);
  detect("activation=none labels=quiet,yes,no ignore=quiet,yes smoothing_frames=2 threshold=0.5", 3, values);
  EXPECT_TRUE(Keep::events.empty());
}

TEST(Detect, TakesTheFirstFrameOfTheHighestPosteriorWhenNoneIsHalf) {
  std::vector<float> values;
  for (const float p : {0.1f, 0.3f, 0.45f, 0.4f}) append(values, 1, p);
  detect(kPosteriors + "smoothing_frames=4 threshold=0.3 refractory_frames=1", 3, values);
  ASSERT_EQ(Keep::events.size(), 1u);
  EXPECT_EQ(Keep::events[0].begin, 2 * 160);
}

TEST(Detect, SoftmaxTakesHugeAndInfiniteLogits) {
  detect("smoothing_frames=1 threshold=0.9 refractory_frames=1", 2,
         {-1e30f, 1e30f, 700.0f, -700.0f, 0.0f, std::log(99.0f)});
  ASSERT_EQ(Keep::events.size(), 3u) << "each frame has another best label";
  EXPECT_EQ(Keep::labels[0], "1");
  EXPECT_EQ(Keep::labels[1], "0");
  EXPECT_NEAR(Keep::events[2].score, 0.99, 1e-6);
  const float nan = std::nanf(""), infinite = INFINITY;
  detect("smoothing_frames=1 threshold=0.9", 2, {nan, nan, infinite, infinite, -infinite, -infinite, nan, 0});
  EXPECT_TRUE(Keep::events.empty());
}

TEST(Detect, NothingInNothingOut) {
  for (const char* mode : {"stream", "clip"}) {
    detect(std::string("mode=") + mode, 2, {});
    EXPECT_TRUE(Keep::events.empty());
  }
}

std::vector<std::int64_t> frames_of_events() {
  std::vector<std::int64_t> all;
  for (const Event& event : Keep::events) all.push_back(event.frame);
  return all;
}
using Frames = std::vector<std::int64_t>;

TEST(Detect, SmoothsExponentially) {
  std::vector<float> values;
  append(values, 4, 0);
  append(values, 20, 1);
  for (const std::int64_t tick : {1, 7, 1000}) {
    detect(kPosteriors + "smoothing=exponential smoothing_frames=4 threshold=0.7 refractory_frames=1", 3,
           values, tick);
    ASSERT_EQ(Keep::events.size(), 1u);
    // 1 - 0.75^n reaches 0.7 with the fifth frame.
    EXPECT_EQ(Keep::events[0].frame, 8);
    EXPECT_NEAR(Keep::events[0].score, 1 - std::pow(0.75, 5), 1e-6);
    EXPECT_EQ(Keep::events[0].begin, 5 * 160) << "of the last four frames";
  }
}

TEST(Detect, LabelsHaveThresholdsOfTheirOwn) {
  std::vector<float> values;
  append(values, 3, 0.8f, 1);
  append(values, 3, 0, 1);
  append(values, 3, 0.8f, 2);
  const std::string base = kPosteriors + "smoothing_frames=1 threshold=0.7 refractory_frames=1 ";
  detect(base, 3, values);
  EXPECT_EQ(frames_of_events(), (Frames{0, 6}));
  detect(base + "thresholds=yes:0.9", 3, values);
  EXPECT_EQ(frames_of_events(), Frames{6});
  EXPECT_EQ(Keep::labels[0], "no");
  detect(base + "thresholds=yes:0.8,no:.81", 3, values);
  EXPECT_EQ(frames_of_events(), Frames{0}) << "0.8f is a little above 0.8";
  // The better label does not reach its threshold, the other one does.
  detect(
      "activation=none labels=yes,no smoothing_frames=1 threshold=0.5 thresholds=yes:0.9,no:0.2 "
      "refractory_frames=1",
      2, {0.7f, 0.3f});
  ASSERT_EQ(Keep::labels.size(), 1u);
  EXPECT_EQ(Keep::labels[0], "no");
}

TEST(Detect, TheGateLetsEventsThroughWhileAVoiceIsHeard) {
  const std::string base =
      "activation=none labels=voice,yes ignore=voice smoothing_frames=1 threshold=0.5 refractory_frames=1 "
      "gate=voice gate_hold_frames=2 ";
  // A word at frames 0, 4 and 8; a voice at frame 2.
  std::vector<float> values(2 * 10, 0.0f);
  for (const std::size_t frame : {0u, 4u, 8u}) values[2 * frame + 1] = 1;
  values[2 * 2] = 0.6f;
  for (const std::int64_t tick : {1, 7}) {
    detect(base, 2, values, tick);
    EXPECT_EQ(frames_of_events(), Frames{4}) << "two frames after the voice";
    detect(base + "gate_threshold=0.7", 2, values, tick);
    EXPECT_TRUE(Keep::events.empty());
  }
}

TEST(Detect, AVetoKeepsBackWordsThatBeganWithSomethingElse) {
  const std::string base =
      "activation=none labels=quiet,yes,no ignore=quiet,no smoothing_frames=2 threshold=0.9 release=0.5 "
      "refractory_frames=1 veto=no ";
  std::vector<float> values;
  append(values, 3, 1, 2);  // half of what sounds like a word, and then like "yes"
  append(values, 3, 1);
  append(values, 5, 0);
  append(values, 1, 1, 2);
  append(values, 3, 1);
  for (const std::int64_t tick : {1, 7, 1000}) {
    detect(base + "veto_frames=4", 3, values, tick);
    EXPECT_EQ(frames_of_events(), Frames{13}) << "one of the four frames before, after three of them";
    detect(base + "veto_frames=4 veto_threshold=0.2", 3, values, tick);
    EXPECT_TRUE(Keep::events.empty());
    detect(base + "veto_frames=4 veto_threshold=0.76", 3, values, tick);
    EXPECT_EQ(frames_of_events(), (Frames{4, 13})) << "more than three of four";
    detect(base + "veto_frames=1 veto_threshold=1", 3, values, tick);
    EXPECT_EQ(frames_of_events(), (Frames{5, 14})) << "until its frame is past";
  }
}

TEST(Detect, WaitsForTheEndOfAWord) {
  std::vector<float> values;
  append(values, 2, 0);
  append(values, 5, 1);
  append(values, 1, 0);
  append(values, 2, 1);
  append(values, 6, 0);
  append(values, 3, 1, 2);
  const std::string parameters =
      kPosteriors + "smoothing_frames=1 threshold=0.9 release=0.5 refractory_frames=3 endpoint_frames=2";
  for (const std::int64_t tick : {1, 7, 1000}) {
    detect(parameters, 3, values, tick);
    ASSERT_EQ(Keep::labels, (std::vector<std::string>{"yes", "yes", "no"}));
    EXPECT_EQ(frames_of_events(), (Frames{2, 8, 16}));
    EXPECT_EQ(Keep::events[0].begin, 2 * 160);
    EXPECT_EQ(Keep::events[0].end, 6 * 160 + 400) << "another event came";
    EXPECT_EQ(Keep::events[1].end, 9 * 160 + 400);
    EXPECT_EQ(Keep::events[2].end, 18 * 160 + 400) << "the stream ended";
  }
}

TEST(Detect, MakesOneEventOfASequence) {
  std::vector<float> values;
  const auto say = [&values](int label, int pause) {
    append(values, 2, 1, label);
    append(values, pause, 0);
  };
  const std::string parameters =
      kPosteriors + "smoothing_frames=1 threshold=0.9 refractory_frames=1 sequence=yes,no sequence_frames=10";
  say(2, 3), say(1, 3), say(1, 4), say(2, 3);
  for (const std::int64_t tick : {1, 7, 1000}) {
    detect(parameters, 3, values, tick);
    EXPECT_EQ(Keep::labels, std::vector<std::string>{"yes,no"});
    EXPECT_EQ(frames_of_events(), Frames{16});
    EXPECT_EQ(Keep::events[0].begin, 10 * 160) << "the latest yes";
    EXPECT_EQ(Keep::events[0].end, 16 * 160 + 400);
  }
  values.clear();
  say(1, 12), say(2, 3);
  detect(parameters, 3, values);
  EXPECT_TRUE(Keep::events.empty()) << "14 frames are too long";
}

TEST(Detect, RefusesWhatItCannotDecide) {
  Rows::dims = 3;
  Rows::values.assign(3, 0);
  const auto refused = [](const std::string& parameters) {
    return failure_of("rows ! detect " + parameters + " ! keep", with_tick(7));
  };
  EXPECT_NE(refused(kPosteriors + "thresholds=yes").find("thresholds=yes: expected LABEL:THRESHOLD"),
            std::string::npos);
  EXPECT_NE(refused(kPosteriors + "thresholds=yes:1.5").find("from 0 to 1"), std::string::npos);
  EXPECT_NE(refused(kPosteriors + "thresholds=yet:0.5")
                .find("thresholds=yet: there is no such label; there are quiet yes no"),
            std::string::npos);
  EXPECT_NE(refused(kPosteriors + "gate=talk").find("gate=talk"), std::string::npos);
  EXPECT_NE(refused(kPosteriors + "veto=talk").find("veto=talk: there is no such label"), std::string::npos);
  EXPECT_NE(refused("mode=clip veto=0").find("mode=clip decides once"), std::string::npos);
  EXPECT_NE(refused(kPosteriors + "sequence=yes").find("two labels or more"), std::string::npos);
  EXPECT_NE(refused(kPosteriors + "sequence=yes,quiet").find("this label is ignored"), std::string::npos);
  EXPECT_NE(refused("mode=clip gate=0").find("mode=clip decides once"), std::string::npos);
  EXPECT_NE(refused("mode=wake-word endpoint_frames=3").find("expected 0 in mode=wake-word"),
            std::string::npos);
}

TEST(Detect, DecidesAClipByItsMeanLogits) {
  detect("mode=clip labels=a,b,silence", 3, {1, 0, 0, 0, 4, 9, 0, 4, 0}, 2);
  ASSERT_EQ(Keep::events.size(), 1u);
  EXPECT_EQ(Keep::labels[0], "silence") << "nothing is ignored: 3 beats 8/3";
  EXPECT_EQ(Keep::events[0].begin, 0);
  EXPECT_EQ(Keep::events[0].end, 2 * 160 + 400);
  EXPECT_EQ(Keep::events[0].frame, 2);
  const double total = std::exp(1.0 / 3) + std::exp(8.0 / 3) + std::exp(3.0);
  EXPECT_NEAR(Keep::events[0].score, std::exp(3.0) / total, 1e-6);
}

// The definition, frame by frame in double precision.
struct Expected {
  int label;
  std::int64_t frame;
};
std::vector<Expected> reference(const std::vector<float>& logits, int classes, int digits, int smoothing,
                                double threshold, double release, int refractory, int veto_frames = 0,
                                double veto_threshold = 1) {
  const auto frames = static_cast<int>(logits.size()) / classes;
  std::vector<std::vector<double>> posteriors;
  std::vector<Expected> events;
  bool armed = true;
  int last = -1000000, last_label = -1;
  for (int t = 0; t < frames; ++t) {
    std::vector<double> p(static_cast<std::size_t>(classes));
    double sum = 0;
    for (int c = 0; c < classes; ++c)
      sum += p[static_cast<std::size_t>(c)] =
          std::exp(static_cast<double>(logits[static_cast<std::size_t>(t * classes + c)]));
    for (double& value : p) value /= sum;
    posteriors.push_back(p);
    int best = -1;
    double highest = -1;
    for (int c = 0; c < digits; ++c) {
      double mean = 0;
      for (int k = std::max(0, t - smoothing + 1); k <= t; ++k)
        mean += posteriors[static_cast<std::size_t>(k)][static_cast<std::size_t>(c)] / smoothing;
      if (mean > highest) {
        highest = mean;
        best = c;
      }
    }
    if (highest < release) armed = true;
    double veto = 0;  // the last label, in the frames before those of the mean
    for (int k = std::max(0, t - smoothing - veto_frames + 1); k <= t - smoothing; ++k)
      veto += posteriors[static_cast<std::size_t>(k)].back() / veto_frames;
    if (veto_frames > 0 && veto >= veto_threshold) continue;
    if (highest >= threshold && (armed || best != last_label) && t - last >= refractory) {
      events.push_back({best, t});
      armed = false;
      last = t;
      last_label = best;
    }
  }
  return events;
}

// Bursts of five labels.
std::vector<float> bursts(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> logits;
  int burst = 0, label = 0;
  for (int t = 0; t < 3000; ++t) {
    if (burst-- <= 0) {
      burst = static_cast<int>(random() % 30);
      label = static_cast<int>(random() % 5);
    }
    for (int c = 0; c < 5; ++c)
      logits.push_back(static_cast<float>(random() % 1000) / 300 + (c == label ? 3.5f : 0.0f));
  }
  return logits;
}

TEST(Detect, EqualsTheDefinitionOnRandomLogitsWhateverTheTick) {
  const std::vector<float> logits = bursts(3);
  const auto expected = reference(logits, 5, 4, 9, 0.6, 0.4, 6);
  ASSERT_GT(expected.size(), 30u);
  for (const std::int64_t tick : {1, 3, 160, 5000}) {
    detect("labels=a,b,c,d,x ignore=x smoothing_frames=9 threshold=0.6 release=0.4 refractory_frames=6", 5,
           logits, tick);
    ASSERT_EQ(Keep::events.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(Keep::events[i].frame, expected[i].frame);
      EXPECT_EQ(Keep::labels[i], std::string(1, "abcdx"[expected[i].label]));
    }
  }
}

TEST(Detect, AVetoEqualsTheDefinition) {
  const std::vector<float> logits = bursts(5);
  const auto free = reference(logits, 5, 4, 9, 0.6, 0.4, 6);
  for (const int frames : {1, 4, 20, 200}) {
    for (const double threshold : {0.1, 0.31}) {
      const auto expected = reference(logits, 5, 4, 9, 0.6, 0.4, 6, frames, threshold);
      const std::string settings =
          "labels=a,b,c,d,x ignore=x smoothing_frames=9 threshold=0.6 release=0.4 refractory_frames=6 veto=x "
          "veto_frames=" +
          std::to_string(frames) + " veto_threshold=" + std::to_string(threshold);
      SCOPED_TRACE(settings);
      ASSERT_GT(expected.size(), 0u);
      ASSERT_NE(expected.size(), free.size());
      for (const std::int64_t tick : {1, 7, 5000}) {
        detect(settings, 5, logits, tick);
        ASSERT_EQ(Keep::events.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(Keep::events[i].frame, expected[i].frame);
      }
    }
  }
}

TEST(Detect, RefusesWhatDoesNotFit) {
  Rows::dims = 3;
  const GraphOptions options = with_tick(8);
  EXPECT_EQ(failure_of("rows ! detect labels=a,b ! keep", options),
            "labels of detect are 2, rows gives 3 classes");
  EXPECT_EQ(failure_of("rows ! detect labels=a,b,c ignore=a,z ! keep", options),
            "detect: ignore=z: there is no such label; there are a b c");
  EXPECT_EQ(failure_of("rows ! detect labels=a,b,c ignore=a,b,c ! keep", options),
            "detect: ignore=a,b,c: no label is left");
  EXPECT_NE(failure_of("rows ! detect threshold=0.3 release=0.4 ! keep", options)
                .find("release is above threshold"),
            std::string::npos);
  EXPECT_EQ(failure_of("rows ! detect threshold=1.5 ! keep", options),
            "line 1, column 15: detect: threshold=1.5: expected a number from 0 to 1");
  EXPECT_EQ(failure_of("rows ! detect tresholt=0.5 ! keep", options),
            "line 1, column 15: detect: there is no parameter 'tresholt', did you mean 'threshold'?");
}

// Detect without deferred frames: every posterior is computed when its frame comes.
class Eager final : public Detector<Eager> {
 public:
  static const NodeType type;
  static const DetectorFacts* like;
  static const DetectorFacts& facts() noexcept { return *like; }
  Status prepare(NodeContext& context) noexcept override { return make_ready(context); }
};
const DetectorFacts* Eager::like = nullptr;
const NodeType Eager::type = {.name = "eager",
                              .help = "Decides.",
                              .input = {static_cast<Kinds>(Kind::frames), "test"},
                              .output = {static_cast<Kinds>(Kind::events), "test"},
                              .parameters = {},
                              .make = make_node<Eager>};

// Logits that rest at an ignored label and now and then rise to a word, near the thresholds, with ties, huge
// and missing numbers.
std::vector<float> speech(std::mt19937& random, int frames, int classes) {
  std::vector<float> values;
  const auto uniform = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 100001) / 100000;
  };
  int word = -1, left = 0;
  for (int t = 0; t < frames; ++t) {
    if (left-- == 0) {
      word = random() % 3 == 0 ? static_cast<int>(random() % static_cast<unsigned>(classes)) : -1;
      left = static_cast<int>(1 + random() % 30);
    }
    for (int c = 0; c < classes; ++c) {
      float value = uniform(-3, 1) + (c == 0 ? uniform(0, 5) : 0.0F) + (c == word ? uniform(2, 9) : 0.0F);
      if (random() % 8 == 0) value = std::round(value);
      if (random() % 4000 == 0) value = std::numeric_limits<float>::quiet_NaN();
      if (random() % 4000 == 0) value = std::numeric_limits<float>::infinity();
      if (random() % 4000 == 0) value = -1e30F;
      values.push_back(value);
    }
  }
  return values;
}

TEST(Detect, DeferredFramesChangeNothing) {
  std::mt19937 random(8);
  std::vector<const NodeType*> nodes(test_nodes().begin(), test_nodes().end());
  nodes.push_back(&Eager::type);
  std::size_t events = 0;
  for (int run = 0; run < 60; ++run) {
    const int classes = static_cast<int>(2 + random() % 13), window = static_cast<int>(1 + random() % 30);
    std::string settings = "labels=silence";
    for (int c = 1; c < classes; ++c) settings += ",w" + std::to_string(c);
    settings += " ignore=silence smoothing_frames=" + std::to_string(window) +
                " refractory_frames=" + std::to_string(1 + random() % 40) + " threshold=0." +
                std::to_string(1 + random() % 9);
    if (run % 4 == 1) settings += " thresholds=w1:0.3";
    if (run % 4 == 2 && classes > 2) settings += " sequence=w1,w2 sequence_frames=200";
    SCOPED_TRACE(settings);
    Rows::dims = classes;
    Rows::values = speech(random, 1500, classes);
    const GraphOptions options{.nodes = nodes, .tick = static_cast<std::int64_t>(1 + random() % 50)};
    const auto graph = run_graph("rows ! detect " + settings + " ! keep", options);
    const std::vector<Event> got = Keep::events;
    const std::vector<std::string> labels = Keep::labels;
    Eager::like = &dynamic_cast<const Detect&>(*graph->stage(1).node).facts();
    run_graph("rows ! eager ! keep", options);
    ASSERT_EQ(labels, Keep::labels);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].score, Keep::events[i].score);
      EXPECT_EQ(got[i].begin, Keep::events[i].begin);
      EXPECT_EQ(got[i].end, Keep::events[i].end);
      EXPECT_EQ(got[i].frame, Keep::events[i].frame);
    }
    events += got.size();
  }
  EXPECT_GT(events, 500U) << "and words are found";
}

// What a deferral assumes of the posteriors of a frame holds for all of them, and where it may be, frames are
// deferred.
TEST(Detect, DeferralsAreBounds) {
  constexpr int kClasses = 12;
  const bool ignored[kClasses] = {true, false, false, false, false, true};
  std::mt19937 random(9);
  int deferred = 0;
  for (int i = 0; i < 20000; ++i) {
    float logits[kClasses];
    for (float& value : logits) value = -static_cast<float>(random() % 2001) / 1000;
    logits[random() % 2 == 0 ? 0 : 5] = static_cast<float>(random() % 60001) / 10000;
    logits[1 + random() % 4] = static_cast<float>(random() % 10001) / 10000;
    double sum = 0, highest = 0;
    for (const float value : logits) sum += std::exp(static_cast<double>(value));
    for (int c = 0; c < kClasses; ++c)
      highest = std::max(highest, ignored[c] ? 0 : std::exp(static_cast<double>(logits[c])) / sum);
    // A window of one frame: no posterior may reach the threshold then.
    const double threshold = 0.001 * static_cast<double>(1 + random() % 999);
    HeapMemory memory;
    Deferral deferral;
    ASSERT_TRUE(
        deferral.prepare(kClasses, ignored, 1, static_cast<std::int64_t>(threshold * 0x1p30), memory));
    if (!deferral.defer(logits, 0, 0)) continue;
    ++deferred;
    ASSERT_LT(highest, threshold);
  }
  EXPECT_GT(deferred, 5000);
}

}  // namespace
}  // namespace runnel::pipeline::test
