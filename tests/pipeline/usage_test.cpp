// How models are used (inference/model/usage.h) in graphs: steps with state and context, windows, clips; wake
// words by their manifests.
#include "compiler/import/usage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/import/load.h"
#include "inference/host/engine.h"
#include "inference/model/usage.h"
#include "pipeline/nodes/model/infer.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using compiler::Graph;
using compiler::UsageOptions;

fs::path data() { return runnel::test::data_folder(); }

// A float network that is as large as its usage needs: y = the input itself, [1, frames, 2], or sums of it.
compiler::Tensor tensor(std::string name, std::vector<std::int32_t> shape) {
  compiler::Tensor made;
  made.name = std::move(name);
  made.shape = std::move(shape);
  made.dtype = DType::float32;
  return made;
}

// y [1, 2] = sum over the `frames` of x [1, frames, 2], and, with state, of the former sum, which comes back
// as `total`.
Graph summing(std::int32_t frames, bool state) {
  Graph graph;
  graph.name = "sums";
  graph.tensors = {tensor("x", {1, frames, 2}), tensor("y", {1, 2})};
  graph.inputs = {0};
  graph.outputs = {1};
  compiler::Node sum;
  sum.name = "sum";
  sum.code = OpCode::reduce_sum;
  sum.inputs = {0};
  sum.outputs = {1};
  sum.options = compiler::ReduceOptions{{1}};
  if (!state) {
    graph.nodes = {sum};
    return graph;
  }
  graph.tensors.push_back(tensor("before", {1, 2}));
  graph.tensors.push_back(tensor("total", {1, 2}));
  graph.inputs = {0, 2};
  graph.outputs = {3};
  compiler::Node add;
  add.name = "add";
  add.code = OpCode::add;
  add.arithmetic = Arithmetic::exact;
  add.inputs = {1, 2};
  add.outputs = {3};
  add.options = compiler::BinaryOptions{};
  graph.nodes = {sum, add};
  return graph;
}

// y [1, 2, 2] = frames 2 and 4 of x [1, 6, 2].
Graph thinning() {
  Graph graph;
  graph.name = "thinned";
  graph.tensors = {tensor("x", {1, 6, 2}), tensor("y", {1, 2, 2})};
  graph.inputs = {0};
  graph.outputs = {1};
  compiler::Node slice;
  slice.name = "slice";
  slice.code = OpCode::slice;
  slice.inputs = {0};
  slice.outputs = {1};
  slice.options = compiler::SliceOptions{{0, 2, 0}, {1, 2, 1}};
  graph.nodes = {slice};
  return graph;
}

class Usage : public testing::Test {
 protected:
  GraphOptions options(std::int64_t tick = 1024) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    result.models = &loader_;
    result.operators = all_operators();
    return result;
  }
  // Writes the graph as it is to be used; its path.
  std::string file(Graph graph, const UsageOptions& usage) {
    Status status = compiler::apply_usage(usage, graph);
    EXPECT_TRUE(status.ok()) << status.text();
    const auto written = compiler::write_for_use(graph, {});
    EXPECT_TRUE(written.ok()) << written.status().text();
    if (!written.ok()) return {};
    const fs::path path = folder_.path() / ("model" + std::to_string(number_++) + ".rnl");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(written->bytes.data()),
               static_cast<std::streamsize>(written->bytes.size()));
    return path.string();
  }
  static void count_rows(int rows) {  // (1, 0), (2, 0), ..
    Rows::dims = 2;
    Rows::values.clear();
    for (int i = 1; i <= rows; ++i) Rows::values.insert(Rows::values.end(), {static_cast<float>(i), 0.0F});
  }
  // The first values of all output frames, for any tick.
  std::vector<float> sums(const std::string& model) {
    std::vector<float> first;
    for (const std::int64_t tick : {1, 2, 3, 7, 1024}) {
      run_graph("rows ! infer output=y model=" + model + " ! keep", options(tick));
      std::vector<float> now;
      for (std::size_t i = 0; i < Keep::values.size(); i += 2) now.push_back(Keep::values[i]);
      if (tick > 1) {
        EXPECT_EQ(now, first) << "tick " << tick;
      }
      first = now;
      for (std::size_t i = 0; i < Keep::indices.size(); ++i)
        EXPECT_EQ(Keep::indices[i], static_cast<std::int64_t>(i));
    }
    return first;
  }

  compiler::FileLoader loader_;
  runnel::test::TemporaryFolder folder_;
  int number_ = 0;
};

TEST_F(Usage, StepsTakeNewFramesBehindTheContextAndFillUpTheLastOne) {
  UsageOptions step;
  step.step = 3;
  step.context = 1;
  count_rows(8);
  // (0) 1 2 3, (3) 4 5 6, (6) 7 8 and zeros
  EXPECT_EQ(sums(file(summing(4, false), step)), (std::vector<float>{6, 18, 21}));
  EXPECT_EQ(Keep::format.clock.hop, 480);
  EXPECT_EQ(Keep::format.clock.span, 400 + 320);
  EXPECT_EQ(Keep::format.clock.begin, 0);
  count_rows(6);
  EXPECT_EQ(sums(file(summing(4, false), step)), (std::vector<float>{6, 18}));
  Rows::values.clear();
  EXPECT_TRUE(sums(file(summing(4, false), step)).empty()) << "an empty stream has no steps";
}

// The first run waits for the frames ahead; at the end each frame was one of a step's own. Frames that come
// out of a step are frames, with a clock of their own.
TEST_F(Usage, StepsLookAheadAndGiveFewerFrames) {
  UsageOptions step;
  step.step = 4;
  step.look_ahead = 2;
  step.output_frames = 2;
  const std::string model = file(thinning(), step);
  const std::vector<std::pair<int, std::vector<float>>> cases = {{0, {}},
                                                                 {1, {0, 0}},
                                                                 {4, {3, 0}},
                                                                 {5, {3, 5, 0, 0}},
                                                                 {6, {3, 5, 0, 0}},
                                                                 {10, {3, 5, 7, 9, 0, 0}},
                                                                 {12, {3, 5, 7, 9, 11, 0}}};
  for (const auto& [rows, expected] : cases) {
    count_rows(rows);
    EXPECT_EQ(sums(model), expected) << rows << " frames";
    if (rows == 0) continue;
    EXPECT_EQ(Keep::format.clock.hop, 320);
    EXPECT_EQ(Keep::format.clock.span, 400);
    EXPECT_EQ(Keep::format.channels, 2);
  }
  // Without it, all values of a step are one frame.
  step.output_frames.reset();
  count_rows(10);
  EXPECT_EQ(sums(file(thinning(), step)).size(), 3u * 2);
}

TEST_F(Usage, StateGoesFromRunToRun) {
  UsageOptions step;
  step.step = 2;
  step.states = {{"total", "before"}};
  count_rows(7);
  const std::string model = file(summing(2, true), step);
  std::vector<float> first;
  for (const std::int64_t tick : {1, 5, 1024}) {
    run_graph("rows ! infer output=total model=" + model + " ! keep", options(tick));
    EXPECT_EQ(Keep::values, (std::vector<float>{3, 0, 10, 0, 21, 0, 28, 0}));
  }
}

TEST_F(Usage, WindowsOverlapOrLeaveGapsAndAreNotFilledUp) {
  UsageOptions window;
  window.window = 4;
  window.hop = 2;
  count_rows(9);
  EXPECT_EQ(sums(file(summing(4, false), window)), (std::vector<float>{10, 18, 26}));
  EXPECT_EQ(Keep::format.clock.hop, 320);
  window.hop = 6;
  count_rows(16);
  EXPECT_EQ(sums(file(summing(4, false), window)), (std::vector<float>{10, 34, 58}));
  window.hop.reset();
  count_rows(8);
  EXPECT_EQ(sums(file(summing(4, false), window)), (std::vector<float>{10, 26}));
  count_rows(3);
  EXPECT_EQ(sums(file(summing(4, false), window)), (std::vector<float>{6}))
      << "a recording shorter than the first window is one clip";
}

TEST_F(Usage, AClipIsTheFirstFramesOnce) {
  UsageOptions whole;
  whole.usage = "whole";
  whole.window = 4;
  const std::string model = file(summing(4, false), whole);
  for (const auto& [rows, sum] : {std::pair{4, 10.0F}, {3, 6.0F}, {9, 10.0F}}) {
    count_rows(rows);
    EXPECT_EQ(sums(model), std::vector<float>{sum});
  }
  std::string note;
  GraphOptions loud = options();
  loud.note = [&](std::string_view text) { note = text; };
  run_graph("rows ! infer model=" + model + " ! keep", loud);
  EXPECT_NE(note.find("one clip of 4 frames, 5 frames after it"), std::string::npos) << note;
}

TEST_F(Usage, AGapStartsAfreshOnTheSameGrid) {
  UsageOptions step;
  step.step = 100;
  step.context = 50;
  Graph graph = summing(150, false);
  graph.tensors[0].shape = {1, 150, 1};
  graph.tensors[1].shape = {1, 1};
  const std::string model = file(graph, step);
  Lossy::sample_rate = 16000;
  Lossy::samples.assign(1000, 1.0F);
  Lossy::losses = {{430, 110}};
  for (const std::int64_t tick : {1, 64, 1024}) {
    run_graph("lossy ! infer model=" + model + " ! keep", options(tick));
    // 0..430: four steps and a begun one; after the loss from sample 600 on, without what came before it.
    EXPECT_EQ(Keep::values, (std::vector<float>{100, 150, 150, 150, 80, 100, 150, 150, 150})) << tick;
    EXPECT_EQ(Keep::indices, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 6, 7, 8, 9}));
  }
}

TEST_F(Usage, ContradictionsAreRefusedByName) {
  const auto refusal = [&](Graph graph, const UsageOptions& usage) {
    Status status = compiler::apply_usage(usage, graph);
    if (status.ok()) status = compiler::write_for_use(graph, {}).status();
    return std::string(status.text());
  };
  UsageOptions usage;
  usage.usage = "stream";
  usage.hop = 3;
  EXPECT_EQ(refusal(summing(4, false), usage), "hop 3 has no meaning for usage stream");
  usage = {};
  usage.step = 3;
  usage.window = 4;
  EXPECT_EQ(refusal(summing(4, false), usage), "window 4 has no meaning for usage step");
  usage = {};
  usage.step = 5;
  EXPECT_NE(refusal(summing(4, true), usage).find("2 inputs take no state, expected one"), std::string::npos);
  usage.states = {{"total", "befor"}};
  EXPECT_EQ(refusal(summing(4, true), usage), "state: no input \"befor\"; the model has x, before");
  usage.states = {{"total", "x"}};
  EXPECT_NE(refusal(summing(4, true), usage).find("expected the same type, scale and size"),
            std::string::npos);
  usage = {};
  usage.context = 4;
  EXPECT_NE(refusal(summing(4, false), usage).find("expected room for new ones"), std::string::npos);
  usage.context = 1;
  usage.look_ahead = 3;
  EXPECT_NE(refusal(summing(4, false), usage).find("a look-ahead of 3 in an input of 4, expected room"),
            std::string::npos);
  usage = {};
  usage.usage = "window";
  usage.look_ahead = 3;
  EXPECT_EQ(refusal(summing(4, false), usage), "look-ahead 3 has no meaning for usage window");
  usage = {};
  usage.step = 4;
  usage.look_ahead = 2;
  usage.output_frames = 3;
  EXPECT_NE(refusal(thinning(), usage).find("3 frames come out of 4, expected a divisor"), std::string::npos);
  usage = {};
  usage.usage = "often";
  EXPECT_EQ(refusal(summing(4, false), usage), "usage \"often\", expected stream, step, window or whole");
}

std::vector<float> floats_of(const fs::path& path) {
  const auto bytes = runnel::test::read_file(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Probabilities of voice against ONNX Runtime; every step takes 1536 samples and two states.
TEST_F(Usage, SileroWithoutContextGivesTheOraclesProbabilities) {
  RUNNEL_NEEDS_DATA();
  compiler::LoadOptions load;
  load.onnx.shapes["input"] = {1, 1536};
  auto imported = compiler::import_file(data() / "models/silero-vad/silero_vad_v3_2021.onnx", load);
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  UsageOptions usage;
  usage.step = 1536;
  usage.states = {{"hn", "h0"}, {"cn", "c0"}};
  const std::string model = file(imported->graph, usage);
  const fs::path folder = data() / "oracles/onnx/models__silero-vad__silero_vad_v3_2021";
  for (const char* id : {"c0", "c9"}) {
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    Lossy::samples = floats_of(folder / (std::string(id) + ".in0.bin"));
    const std::vector<float> expected = floats_of(folder / (std::string(id) + ".out0.bin"));
    ASSERT_EQ(Lossy::samples.size() / 1536 * 2, expected.size());
    for (const std::int64_t tick : {160, 1024, 7}) {
      run_graph("lossy ! infer output=output model=" + model + " ! keep", options(tick));
      ASSERT_EQ(Keep::values.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(Keep::values[i], expected[i], 1e-4) << i;
    }
  }
}

// 512 new samples behind 64 of the past. The oracle's first step has a past, that of a stream has none: the
// same runs, one by one, are the measure, and what is left of the difference at the end is small.
TEST_F(Usage, SileroTakesItsContextFromTheStream) {
  RUNNEL_NEEDS_DATA();
  compiler::LoadOptions load;
  load.onnx.shapes["input"] = {1, 576};
  auto imported = compiler::import_file(data() / "models/silero-vad/silero_vad_openvino_16k.onnx", load);
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  UsageOptions usage;
  usage.step = 512;
  usage.context = 64;
  usage.states = {{"stateN", "state"}};
  const std::string model = file(imported->graph, usage);
  const fs::path folder = data() / "oracles/onnx/models__silero-vad__silero_vad_openvino_16k";
  for (const char* id : {"c0", "c1"}) {
    std::vector<float> steps = floats_of(folder / (std::string(id) + ".in0.bin"));
    const std::vector<float> oracle = floats_of(folder / (std::string(id) + ".out0.bin"));
    std::fill_n(steps.begin(), 64, 0.0F);
    const auto owned = OwnedModel::from_file(model);
    ASSERT_TRUE(owned.ok()) << owned.status().text();
    const auto engine = Engine::make(*owned, {.mode = RunMode::whole});
    ASSERT_TRUE(engine.ok()) << engine.status().text();
    const auto runner = Runner::make(*engine);
    Session& session = (*runner)->session();
    const Model& loaded = (*owned)->model();
    const int first = loaded.tensor_name(loaded.inputs()[0]) == "input" ? 0 : 1;
    std::vector<std::byte> state(loaded.tensor(loaded.find_tensor("state")).bytes());
    std::vector<float> expected;
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    Lossy::samples.clear();
    for (std::size_t at = 0; at < steps.size(); at += 576) {
      Lossy::samples.insert(Lossy::samples.end(), steps.begin() + static_cast<std::ptrdiff_t>(at + 64),
                            steps.begin() + static_cast<std::ptrdiff_t>(at + 576));
      std::memcpy(session.input(first).data(), steps.data() + at, 576 * sizeof(float));
      std::memcpy(session.input(1 - first).data(), state.data(), state.size());
      session.run((*engine)->prepared().block());
      const auto next = session.tensor(loaded.find_tensor("stateN"));
      state.assign(next.begin(), next.end());
      expected.push_back(
          *reinterpret_cast<const float*>(session.tensor(loaded.find_tensor("output")).data()));
    }
    for (const std::int64_t tick : {160, 1024, 5}) {
      run_graph("lossy ! infer output=output model=" + model + " ! keep", options(tick));
      EXPECT_EQ(Keep::values, expected);
    }
    EXPECT_NEAR(Keep::values.back(), oracle.back(), 0.02);
  }
}

// The streaming Zipformer2-CTC as it is published: front end, chunks and greedy search give the tokens and
// times that sherpa-onnx gives for 66 s of speech. It leaves the last frames to more sound, here zeros follow
// them.
TEST_F(Usage, ZipformerGivesTheTokensOfAnotherEngine) {
  RUNNEL_NEEDS_DATA();
  const fs::path folder = data() / "speech/zipformer";
  auto imported = compiler::import_file(folder / "zipformer2_ctc_random.onnx", {});
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const std::string model = file(imported->graph, {});
  const fs::path result = folder_.path() / "log_probs.npy";
  run_graph("wav path=" + (folder / "speech_66s.flac").string() +
                " ! fbank preset=zipformer ! "
                "infer model=" +
                model + " ! npy path=" + result.string(),
            options());
  const runnel::test::Npy written = runnel::test::read_npy(result);
  ASSERT_EQ(written.shape.size(), 2u);
  ASSERT_EQ(written.shape[1], 500u);
  const std::vector<float> values = written.as<float>();
  const auto recorded = nlohmann::json::parse(read_text(folder / "recorded_result.json"));
  std::vector<std::string> names(500);
  std::ifstream tokens(folder / "tokens.txt");
  for (std::string name; tokens >> name;) {
    std::size_t id = 0;
    tokens >> id;
    names.at(id) = name;
  }
  std::size_t found = 0, last = 0;
  for (std::size_t frame = 0; frame < written.shape[0]; ++frame) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(frame * 500);
    const auto best = static_cast<std::size_t>(std::max_element(row, row + 500) - row);
    if (best != last && best != 0 && found < recorded["tokens"].size()) {
      const std::string expected = recorded["tokens"][found];
      EXPECT_TRUE(names[best] == expected ||
                  names[best] == "\u2581" + expected.substr(expected.find_first_not_of(' ')))
          << "token " << found << ": " << names[best] << " and " << expected;
      EXPECT_NEAR(static_cast<double>(frame) * 0.04, recorded["timestamps"][found].get<double>(), 1e-3);
      ++found;
    }
    last = best;
  }
  EXPECT_EQ(found, recorded["tokens"].size());
  EXPECT_EQ(found, 234u);
}

// Recordings of the oracle chains: noise, the word, noise. Probabilities byte for byte, detections at the
// oracle's moment.
TEST_F(Usage, WakeWordsAreHeardAsTheirManifestsSay) {
  RUNNEL_NEEDS_DATA();
  const auto chains = nlohmann::json::parse(read_text(data() / "oracles/MANIFEST.json"))["chains"];
  int heard = 0, files = 0;
  for (const auto& chain : chains) {
    if (!chain.contains("cutoff_u8")) continue;
    ++files;
    const std::string name = chain["model"].get<std::string>() + " " + chain["name"].get<std::string>();
    SCOPED_TRACE(name);
    const fs::path manifest = (data() / chain["model"].get<std::string>()).replace_extension(".json");
    const auto bytes =
        runnel::test::read_file(data() / "oracles" / chain["files"]["audio_s16"].get<std::string>());
    const auto expected =
        runnel::test::read_file(data() / "oracles" / chain["files"]["probability_u8"].get<std::string>());
    std::vector<std::int16_t> samples(bytes.size() / 2);
    std::memcpy(samples.data(), bytes.data(), samples.size() * 2);
    const fs::path wav = folder_.path() / "a.wav";
    write_recording(wav, samples);
    const auto loaded = loader_.load(manifest.string());
    ASSERT_TRUE(loaded.ok()) << loaded.status().text();
    const std::string front = (*loaded)->pipeline()->front_end()->str(),
                      decision = (*loaded)->pipeline()->decision()->str();
    const std::string chain_text =
        "wav path=" + wav.string() + " ! " + front + " ! infer model=" + manifest.string();
    run_graph(chain_text + " ! keep", options());
    ASSERT_GE(Keep::values.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(Keep::values[i], static_cast<float>(expected[i]) / 256) << "step " << i;
    for (const std::int64_t tick : {1024, 160, 16000}) {
      run_graph(chain_text + " ! " + decision + " ! keep", options(tick));
      ASSERT_EQ(Keep::events.size(), chain["events"].size());
      for (std::size_t i = 0; i < Keep::events.size(); ++i) {
        EXPECT_EQ(Keep::events[i].frame, chain["events"][i]["invocation"].get<int>());
        EXPECT_EQ(Keep::events[i].end, chain["events"][i]["end_sample"].get<int>());
        EXPECT_EQ(Keep::labels[i], nlohmann::json::parse(read_text(manifest))["wake_word"]);
        ++heard;
      }
    }
  }
  EXPECT_EQ(files, 3);
  EXPECT_EQ(heard, 2 * 3) << "two words, three ticks";
}

TEST_F(Usage, AWakeWordIsHeardAgainBehindAGapAndNotTwiceInOneWord) {
  RUNNEL_NEEDS_DATA();
  const auto bytes = runnel::test::read_file(data() / "oracles/chains/alexa__alexa_test.audio.s16");
  std::vector<std::int16_t> samples(bytes.size() / 2);
  std::memcpy(samples.data(), bytes.data(), samples.size() * 2);
  Lossy::sample_rate = 16000;
  Lossy::samples.clear();
  for (const std::int16_t sample : samples) Lossy::samples.push_back(static_cast<float>(sample) / 32768);
  // The same once more, after a loss that ends at a step: the stream starts as it did, and hears the same.
  const std::int64_t once = static_cast<std::int64_t>(Lossy::samples.size()),
                     again = (once + 1600 + 479) / 480 * 480;
  Lossy::losses = {{once, again - once}};
  const std::vector<float> heard = Lossy::samples;
  Lossy::samples.resize(static_cast<std::size_t>(again), 0.0F);
  Lossy::samples.insert(Lossy::samples.end(), heard.begin(), heard.end());
  const std::string manifest = (data() / "models/mww/alexa.json").string();
  const auto loaded = loader_.load(manifest);
  ASSERT_TRUE(loaded.ok()) << loaded.status().text();
  run_graph("lossy ! " + (*loaded)->pipeline()->front_end()->str() + " ! infer model=" + manifest + " ! " +
                (*loaded)->pipeline()->decision()->str() + " ! keep",
            options());
  ASSERT_EQ(Keep::events.size(), 2u);
  EXPECT_EQ(Keep::events[0].end, 43520);
  EXPECT_EQ(Keep::events[1].end - again, 43520);
  EXPECT_EQ(Keep::events[1].begin - again, Keep::events[0].begin);
  EXPECT_EQ(Keep::events[1].score, Keep::events[0].score);
}

TEST_F(Usage, ManifestsThatAreWrongAreRefusedWithTheKey) {
  RUNNEL_NEEDS_DATA();
  const auto good = nlohmann::json::parse(read_text(data() / "models/mww/alexa.json"));
  fs::copy_file(data() / "models/mww/alexa.tflite", folder_.path() / "alexa.tflite");
  const auto failure = [&](const nlohmann::json& manifest) {
    const fs::path path = folder_.path() / "m.json";
    std::ofstream(path) << manifest.dump();
    const auto loaded = compiler::load_model(path);
    return loaded.ok() ? std::string() : std::string(loaded.status().text());
  };
  EXPECT_EQ(failure(good), "");
  const auto changed = [&](auto change) {
    auto manifest = good;
    change(manifest);
    return failure(manifest);
  };
  EXPECT_NE(changed([](auto& m) { m["type"] = "macro"; }).find("type \"macro\", expected micro"),
            std::string::npos);
  EXPECT_NE(changed([](auto& m) { m["version"] = 3; }).find("version 3, expected 1 or 2"), std::string::npos);
  EXPECT_NE(
      changed([](auto& m) { m["model"] = "../alexa.tflite"; }).find("expected a file beside the manifest"),
      std::string::npos);
  EXPECT_NE(changed([](auto& m) { m["model"] = "none.tflite"; }).find("none.tflite"), std::string::npos);
  EXPECT_NE(
      changed([](auto& m) { m["micro"]["probability_cutoff"] = 1.5; }).find("probability_cutoff is 1.5"),
      std::string::npos);
  EXPECT_NE(
      changed([](auto& m) { m["micro"]["sliding_window_size"] = "5"; }).find("sliding_window_size is \"5\""),
      std::string::npos);
  EXPECT_NE(changed([](auto& m) { m.erase("wake_word"); }).find("no wake_word"), std::string::npos);
  EXPECT_NE(changed([](auto& m) { m.erase("micro"); }).find("no section micro"), std::string::npos);
  std::ofstream(folder_.path() / "m.json") << "{ \"type\": ";
  EXPECT_NE(std::string(compiler::load_model(folder_.path() / "m.json").status().text()).find("nor JSON"),
            std::string::npos);
}

}  // namespace
}  // namespace runnel::pipeline::test
