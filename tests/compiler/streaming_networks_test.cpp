// Real networks stream exactly; docs/streaming-networks.md is what came out. RUNNEL_UPDATE_DOCS=1 writes it
// anew.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "compiler/import/load.h"
#include "inference/host/check.h"
#include "inference/host/describe.h"
#include "inference/host/profile.h"
#include "tests/compiler/run_graph.h"
#include "tests/support/data.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;
using compiler::StreamOptions;

struct Network {
  const char* path;
  const char* what;
  std::int64_t pool_window = 0;
  int pool_hop = 1;
  int frames = 160;
};

constexpr Network kNetworks[] = {
    {"trained/M1.onnx", "causal TCN, float"},
    {"trained/M1_padnodes.onnx", "the same with explicit Pad nodes"},
    {"conformance/models/m1__c_s8.espdl", "causal TCN, int8"},
    {"conformance/models/m1__esp32p4_s8.espdl", "causal TCN, int8 per channel"},
    {"conformance/models/m1__c_s16.espdl", "causal TCN, int16"},
    {"trained/M1s.onnx", "strided stem, padded on both sides, float"},
    {"trained/M3.onnx", "convolution and GRU, float"},
    {"trained/M3_state.onnx", "convolution and GRU with explicit state, float"},
    {"conformance/models/m3__c_s8.espdl", "convolution and GRU, int8"},
    {"conformance/models/m3__c_s16.espdl", "convolution and GRU, int16"},
    {"trained/M2.onnx", "DS-CNN on two axes, windows of the clip, float", StreamOptions::kClip},
    {"conformance/models/m2__c_s8.espdl", "DS-CNN on two axes, windows of the clip, int8",
     StreamOptions::kClip},
    {"conformance/models/m2__c_s16.espdl", "DS-CNN on two axes, windows of the clip, int16",
     StreamOptions::kClip},
    {"trained/har/H1.onnx", "motion, strided, float"},
    {"conformance/models/h1__c_s8.espdl", "motion, strided, int8"},
    {"digits/digits.onnx", "spoken digits, float"},
    {"digits/digits_c_s8.espdl", "spoken digits, int8"},
    {"digits/digits_esp32p4_s8.espdl", "spoken digits, int8 per channel"},
    {"models/mlperf-tiny/str_ww_ref_model.tflite",
     "MLPerf Tiny streaming wakeword, its clip of 30 frames turned into a stream"},
    {"models/mlperf-tiny/kws_ref_model.tflite", "MLPerf Tiny keywords, windows of the clip",
     StreamOptions::kClip},
    {"models/openwakeword/embedding_model.onnx", "openWakeWord embedding, float"},
    {"models/synthetic/crnn_lstm2_random.onnx", "convolution and two LSTMs, float"},
    {"espdl/tcn/tcn3_c_s8.espdl", "three dilated convolutions, int8"},
    {"espdl/tcn/probe_k4s2_c_s8.espdl", "even kernel, stride 2"},
    {"espdl/tcn/probe_pad_c_s8.espdl", "padding on both sides"},
    {"espdl/tcn/probe_res_c_s8.espdl", "residual branch with a slice"},
    {"espdl/tcn/probe_stride_c_s8.espdl", "two strides"},
    {"espdl/models/esp32p4/streaming/model.espdl",
     "published example, a dense layer over the last 3 frames, every 3", StreamOptions::kClip, 3},
};

Result<compiler::LoadedModel> load(const Network& network) {
  compiler::LoadOptions options;
  options.stream.pool_window = network.pool_window;
  options.stream.pool_hop = network.pool_hop;
  options.stream.required = true;
  return compiler::load_model(test::data_folder() / network.path, options);
}

std::string row_of(const Network& network, const ModelDescription& about, bool exact) {
  std::size_t contexts = 0;
  for (const TensorDescription& tensor : about.tensors) contexts += tensor.state_bytes;
  char text[400];
  std::snprintf(text, sizeof text, "| %s | %s | %lld | %lld | %g | %lld | %zu | %zu | %.0f | %s |\n",
                fs::path(network.path).filename().c_str(), network.what, static_cast<long long>(about.block),
                static_cast<long long>(about.tensors[static_cast<std::size_t>(about.outputs[0])].delay),
                about.lookahead, static_cast<long long>(about.cold_start), contexts, about.memory.state,
                about.macs_per_frame, exact ? "yes" : "NO");
  return text;
}

TEST(StreamingNetworks, EveryOneIsExactAndThePageSaysSo) {
  RUNNEL_NEEDS_DATA();
  std::string page =
      "# Real networks as streams\n\n"
      "Written by `tests/compiler/streaming_networks_test.cpp` (`RUNNEL_UPDATE_DOCS=1`). Every network was "
      "streamed in blocks of seven sizes, after resets, two "
      "sessions\ninterleaved, saved and restored, and event-driven, and compared with the run over the whole "
      "recording: *exact* means the same bits in all of "
      "them.\nBlock: the least number of source frames per call. D: delay of the first output in its own "
      "frames. Look-ahead and cold start: in source frames. "
      "Context: the frames\nthat later calls need; state: all that a session keeps in a device plan "
      "(contexts, one block behind each, recurrent state, counters). "
      "MACs: per source frame, as\nmany as the whole run needs.\n\n"
      "| network | what it is | block | D | look-ahead | cold start | context bytes | state bytes | MACs per "
      "frame | exact |\n|---|---|---|---|---|---|---|---|---|---|\n";
  int found = 0;
  for (const Network& network : kNetworks) {
    if (!fs::exists(test::data_folder() / network.path)) continue;
    SCOPED_TRACE(network.path);
    const auto loaded = load(network);
    ASSERT_TRUE(loaded.ok()) << loaded.status().text();
    const auto report = check_streaming(loaded->model, network.frames, {}, 5);
    ASSERT_TRUE(report.ok()) << report.status().text();
    EXPECT_GT(report->output_frames, 0);
    for (const Difference& difference : report->differences)
      ADD_FAILURE() << difference.run << ": frame " << difference.frame;
    PrepareOptions device;
    device.isa = Isa::generic;
    device.slack = false;
    device.alignment = 16;
    const auto about = describe_model(loaded->model, device);
    ASSERT_TRUE(about.ok()) << about.status().text();
    page += row_of(network, *about, report->differences.empty());
    ++found;
  }
  EXPECT_EQ(found, static_cast<int>(std::size(kNetworks)));
  const std::string path = RUNNEL_SOURCE_FOLDER "/docs/streaming-networks.md";
  if (std::getenv("RUNNEL_UPDATE_DOCS") != nullptr) std::ofstream(path) << page;
  std::ifstream file(path);
  const std::string written((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(written == page) << path << " is out of date: run this test with RUNNEL_UPDATE_DOCS=1";
}

// Multiply-adds of the shapes that are prepared for a step and for a whole recording. A strided layer takes a
// frame more now and then, and windows of a pool more than one result: only where every layer makes a frame
// out of a frame is the sum the same to the last one.
TEST(StreamingNetworks, StepMultipliesNoMoreThanOffline) {
  RUNNEL_NEEDS_DATA();
  constexpr std::int64_t kFrames = 96;
  for (const char* path :
       {"trained/M1.onnx", "conformance/models/m1__c_s8.espdl", "conformance/models/m1__c_s16.espdl",
        "digits/digits.onnx", "digits/digits_c_s8.espdl", "digits/digits_esp32p4_s8.espdl"}) {
    SCOPED_TRACE(path);
    const auto loaded = load({path, ""});
    ASSERT_TRUE(loaded.ok()) << loaded.status().text();
    const auto whole = profile_model(loaded->model, {.mode = RunMode::whole, .frames = kFrames, .runs = 1});
    ASSERT_TRUE(whole.ok()) << whole.status().text();
    EXPECT_GT(whole->macs, 0);
    for (const std::int64_t block : {1, 3, 8}) {
      const auto step = profile_model(loaded->model, {.mode = RunMode::stream, .frames = block, .runs = 1});
      ASSERT_TRUE(step.ok()) << step.status().text();
      EXPECT_EQ(step->macs * (kFrames / block), whole->macs) << "blocks of " << block;
    }
  }
}

// A published streaming file, with the exporter's caches in front of its layers, against our own stream of
// its offline twin: behind the frames of the first clip, in which its caches still hold zeros for frames in
// front of the recording that the offline network never sees, the same bytes.
TEST(StreamingNetworks, PublishedStreamingFileGivesWhatOurStreamOfItsTwinGives) {
  RUNNEL_NEEDS_DATA();
  constexpr std::size_t kFrames = 96, kFrameBytes = 16, kStep = 3, kClip = 24;
  std::mt19937 random(11);
  test::Bytes input(kFrames * kFrameBytes);
  for (std::byte& value : input) value = static_cast<std::byte>(random());
  int compared = 0;
  for (const char* target : {"esp32p4", "esp32s3"}) {
    const std::string folder = std::string("espdl/models/") + target + "/streaming/",
                      twin = folder + "model.espdl";
    if (!fs::exists(test::data_folder() / folder / "streaming_model.espdl")) continue;
    const auto ours = load({twin.c_str(), "", StreamOptions::kClip, static_cast<int>(kStep)});
    ASSERT_TRUE(ours.ok()) << ours.status().text();
    PrepareOptions whole;
    whole.mode = RunMode::whole;
    whole.frames = static_cast<std::int64_t>(kFrames);
    const auto engine = Engine::make(ours->model, whole);
    ASSERT_TRUE(engine.ok()) << engine.status().text();
    const auto runner = Runner::make(*engine);
    const auto to = (*runner)->session().input(0);
    ASSERT_EQ(to.size(), input.size());
    std::copy(input.begin(), input.end(), to.begin());
    (*runner)->session().run(static_cast<std::int64_t>(kFrames));
    const auto result = (*runner)->session().tensor(ours->model->model().outputs()[0]);

    compiler::LoadOptions as_target;
    as_target.target = target;
    const auto imported =
        compiler::import_file(test::data_folder() / folder / "streaming_model.espdl", as_target);
    ASSERT_TRUE(imported.ok()) << imported.status().text();
    const auto theirs = test::RunnableGraph::make(imported->graph);
    ASSERT_TRUE(theirs.ok()) << theirs.status().text();
    std::vector<std::vector<test::Bytes>> steps;
    for (std::size_t at = 0; at < input.size(); at += kStep * kFrameBytes) {
      steps.push_back({test::Bytes(input.begin() + static_cast<std::ptrdiff_t>(at),
                                   input.begin() + static_cast<std::ptrdiff_t>(at + kStep * kFrameBytes))});
    }
    const auto outputs = (*theirs)->stepped(steps);
    ASSERT_TRUE(outputs.ok()) << outputs.status().text();
    test::Bytes expected;
    for (std::size_t step = kClip / kStep - 1; step < outputs->size(); ++step)
      expected.insert(expected.end(), (*outputs)[step][0].begin(), (*outputs)[step][0].end());
    EXPECT_EQ(test::Bytes(result.begin(), result.end()), expected) << target;
    ++compared;
  }
  EXPECT_GE(compared, 1);
}

}  // namespace
}  // namespace runnel
