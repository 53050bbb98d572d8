// Published forms of recognisers: conformers with every kind of positions stream, a streaming Zipformer2 is
// imported as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/host/heap_memory.h"
#include "compiler/import/load.h"
#include "compiler/import/usage.h"
#include "inference/host/check.h"
#include "inference/stepped_session.h"
#include "tests/support/data.h"
#include "tests/support/npy.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;
using compiler::AttentionWindow;

fs::path speech() { return test::data_folder() / "speech"; }

Result<std::shared_ptr<const OwnedModel>> conformer(const std::string& name,
                                                    std::optional<AttentionWindow> window,
                                                    std::optional<int> time_axis = 1) {
  compiler::LoadOptions options;
  options.stream.required = true;
  options.stream.time_axis = time_axis;
  options.stream.attention = window;
  auto loaded = compiler::load_model(speech() / "conformer" / (name + ".onnx"), options);
  if (!loaded.ok()) return loaded.status();
  return loaded->model;
}

// Against PyTorch's output for the recorded clip.
void expect_recorded(const std::shared_ptr<const OwnedModel>& model, const std::string& name) {
  const std::vector<float> x = test::read_npy(speech() / "conformer" / (name + "_x.npy")).as<float>(),
                           y = test::read_npy(speech() / "conformer" / (name + "_y.npy")).as<float>();
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.frames = 200;
  const auto engine = Engine::make(model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  Session& session = (*runner)->session();
  ASSERT_EQ(session.input(0).size(), x.size() * sizeof(float));
  std::memcpy(session.input(0).data(), x.data(), x.size() * sizeof(float));
  session.run((*engine)->prepared().block());
  const auto bytes = session.tensor(model->model().outputs()[0]);
  ASSERT_EQ(bytes.size(), y.size() * sizeof(float));
  std::vector<float> found(y.size());
  std::memcpy(found.data(), bytes.data(), bytes.size());
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(found[i], y[i], 1e-5) << name << ", element " << i;
}

constexpr const char* kVariants[] = {"c_none13", "c_alibi", "c_learned", "c_relpos17", "c_masked"};

TEST(SpeechConformers, EveryVariantStreamsBitForBit) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : kVariants) {
    for (const AttentionWindow& window : {AttentionWindow{16, 0, 1}, AttentionWindow{8, 4, 4}}) {
      if (std::string(name) == "c_masked" && window.chunk != 1) continue;  // of the file: 16:0:1
      const auto model = conformer(name, window);
      ASSERT_TRUE(model.ok()) << model.status().text();
      const auto report = check_streaming(*model, 200, {}, 1);
      ASSERT_TRUE(report.ok()) << report.status().text();
      EXPECT_TRUE(report->differences.empty()) << name << ", " << report->differences[0].run;
    }
  }
}

// A window as wide as the clip is no window: the whole clip of PyTorch. The mask of the file is one of its
// own.
TEST(SpeechConformers, GiveWhatPyTorchGivesForTheWholeClip) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : kVariants) {
    const bool masked = std::string(name) == "c_masked";
    const auto model = conformer(name, masked ? std::nullopt : std::optional(AttentionWindow{48, 48, 1}));
    ASSERT_TRUE(model.ok()) << model.status().text();
    expect_recorded(*model, name);
  }
}

TEST(SpeechConformers, RefusalsAreTrue) {
  RUNNEL_NEEDS_DATA();
  for (const char* name : kVariants) {
    // The axis that was guessed, first.
    const std::string guessed(conformer(name, AttentionWindow{16, 0, 1}, {}).status().text());
    EXPECT_NE(guessed.find(".onnx: time is taken to be axis 2 of input 'x' [1,200,80]"), std::string::npos)
        << guessed;
    EXPECT_NE(guessed.find("--time-axis"), std::string::npos) << guessed;
    if (std::string(name) == "c_masked") continue;
    const std::string all(conformer(name, {}).status().text());
    EXPECT_NE(all.find("--attention-window"), std::string::npos) << all;
  }
}

// Adds a mask to the scores of every attention, as an export has it: 16 frames before the query and none
// after it.
void mask_scores(compiler::Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].code != OpCode::softmax) continue;
    const compiler::TensorId scores = graph.nodes[n].inputs[0];
    const int frames = graph.tensors[static_cast<std::size_t>(scores)].shape.back();
    std::vector<float> values;
    for (int i = 0; i < frames; ++i) {
      for (int j = 0; j < frames; ++j) values.push_back(j > i || j < i - 16 ? -1e9F : 0.0F);
    }
    compiler::Tensor mask;
    mask.name = "mask" + std::to_string(n);
    mask.shape = {frames, frames};
    mask.dtype = DType::float32;
    mask.data.emplace(values.size() * sizeof(float));
    std::memcpy(mask.data->data(), values.data(), mask.data->size());
    compiler::Tensor sum = graph.tensors[static_cast<std::size_t>(scores)];
    sum.name = "masked" + std::to_string(n);
    graph.tensors.push_back(std::move(mask));
    graph.tensors.push_back(std::move(sum));
    const auto last = static_cast<compiler::TensorId>(graph.tensors.size()) - 1;
    compiler::Node add;
    add.name = "mask" + std::to_string(n);
    add.code = OpCode::add;
    add.inputs = {scores, last - 1};
    add.outputs = {last};
    add.options = compiler::BinaryOptions{};
    graph.nodes[n].inputs[0] = last;
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(n++), add);
  }
}

// What once ended with "an attention window, but the model has no attention over all frames".
struct OnceRefused {
  const char *name, *file;
  bool add_mask;  // to those whose file has none; then there is no option
  std::optional<AttentionWindow> window;
};
class SpeechConformerOnceRefused : public testing::TestWithParam<OnceRefused> {};

TEST_P(SpeechConformerOnceRefused, Streams) {
  RUNNEL_NEEDS_DATA();
  auto imported =
      compiler::import_file(speech() / "conformer" / (std::string(GetParam().file) + ".onnx"), {});
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  if (GetParam().add_mask) mask_scores(imported->graph);
  compiler::WriteOptions options;
  options.stream.required = true;
  options.stream.time_axis = 1;
  options.stream.attention = GetParam().window;
  const auto written = compiler::write_model(imported->graph, options);
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto model = OwnedModel::from_bytes(written->bytes);
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto report = check_streaming(*model, 40, {}, 1);
  ASSERT_TRUE(report.ok()) << report.status().text();
  EXPECT_TRUE(report->differences.empty()) << report->differences[0].run;
}

INSTANTIATE_TEST_SUITE_P(
    Each, SpeechConformerOnceRefused,
    testing::Values(OnceRefused{"alibi", "c_alibi", false, AttentionWindow{16, 0, 1}},
                    OnceRefused{"learned", "c_learned", false, AttentionWindow{16, 0, 1}},
                    OnceRefused{"relpos", "c_relpos17", false, AttentionWindow{16, 0, 1}},
                    OnceRefused{"relpos_ahead", "c_relpos17", false, AttentionWindow{12, 4, 4}},
                    OnceRefused{"masked", "c_masked", false, {}},
                    OnceRefused{"alibi_masked", "c_alibi", true, {}},
                    OnceRefused{"relpos_masked", "c_relpos17", true, {}}),
    [](const auto& one) { return std::string(one.param.name); });

// ---- Zipformer2-CTC, random weights

Result<compiler::ImportedGraph> zipformer(bool without_start) {
  compiler::LoadOptions options;
  if (without_start) options.onnx.values["processed_lens"] = {1000};
  return compiler::import_file(speech() / "zipformer/zipformer2_ctc_random.onnx", options);
}

TEST(SpeechZipformer, IsImportedAsItIsPublished) {
  RUNNEL_NEEDS_DATA();
  auto imported = zipformer(false);
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const compiler::PipelineSettings& settings = imported->graph.pipeline;
  EXPECT_EQ(settings.usage, UsageKind::step);
  EXPECT_EQ(settings.step, 32);
  EXPECT_EQ(settings.context, 0);
  EXPECT_EQ(settings.look_ahead, 13);
  EXPECT_EQ(settings.output_frames, 8);
  EXPECT_EQ(settings.states.size(), 38u);
  int logarithms = 0, swooshes = 0;
  for (const compiler::Node& node : imported->graph.nodes) {
    logarithms += node.code == OpCode::log ? 1 : 0;
    swooshes += node.code == OpCode::swoosh ? 1 : 0;
  }
  EXPECT_EQ(logarithms, 0);
  EXPECT_EQ(swooshes, 34);
}

// 33 chunks with their state against ONNX Runtime, which ran them with the start of the stream long past.
TEST(SpeechZipformer, ChunksWithStateAreThoseOfOnnxRuntime) {
  RUNNEL_NEEDS_DATA();
  auto imported = zipformer(true);
  ASSERT_TRUE(imported.ok()) << imported.status().text();
  const auto written = compiler::write_for_use(imported->graph, {});
  ASSERT_TRUE(written.ok()) << written.status().text();
  const auto model = OwnedModel::from_bytes(written->bytes);
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto usage = usage_of((*model)->model());
  ASSERT_TRUE(usage.ok()) << usage.status().text();
  const auto engine = Engine::make(*model, prepare_options((*model)->model(), *usage));
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  HeapMemory memory;
  auto stepped = SteppedSession::make((*engine)->prepared(), *usage, memory);
  ASSERT_TRUE(stepped.ok()) << stepped.status().text();
  const std::vector<float> frames = test::read_npy(speech() / "zipformer/fbank_11s.npy").as<float>();
  const auto bytes = test::read_file(speech() / "zipformer/zseq_ort.f32");
  std::vector<float> expected(bytes.size() / sizeof(float)), found;
  std::memcpy(expected.data(), bytes.data(), bytes.size());
  ASSERT_EQ(expected.size(), 33u * 8 * 500);
  for (std::size_t at = 0; at < frames.size() && found.size() < expected.size(); at += 80) {
    std::memcpy(stepped->room(), frames.data() + at, 80 * sizeof(float));
    stepped->written(1);
    if (!stepped->due()) continue;
    stepped->run();
    const auto y = stepped->session().tensor((*model)->model().find_tensor("log_probs"));
    found.resize(found.size() + y.size() / sizeof(float));
    std::memcpy(found.data() + found.size() - y.size() / sizeof(float), y.data(), y.size());
  }
  ASSERT_EQ(found.size(), expected.size());
  float worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::fabs(found[i] - expected[i]));
  EXPECT_LE(worst, 1e-5f);
}

}  // namespace
}  // namespace runnel
