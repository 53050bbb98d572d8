#include "pipeline/executor.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using runnel::test::TemporaryFolder;

std::vector<float> ramp(std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(i % 16384) / 32768 + static_cast<float>(i % 7) / 64;
  return samples;
}

GraphOptions lossy(std::int64_t tick, OnGap on_gap) {
  return {.nodes = test_nodes(), .tick = tick, .on_gap = on_gap};
}

struct Kept {
  std::vector<std::int64_t> indices;
  std::vector<float> values;
};
Kept run_lossy(const std::string& chain, std::vector<float> samples, std::vector<Loss> losses,
               const GraphOptions& options) {
  Lossy::samples = std::move(samples);
  Lossy::losses = std::move(losses);
  run_graph("lossy ! " + chain + " ! keep", options);
  return {Keep::indices, Keep::values};
}

TEST(Gaps, ResetLetsIndicesJump) {
  const std::vector<float> samples = ramp(1000);
  const Kept kept = run_lossy("downmix", samples, {{100, 50}, {400, 1}}, lossy(64, OnGap::reset));
  ASSERT_EQ(kept.indices.size(), 949u);
  EXPECT_EQ(kept.indices[99], 99);
  EXPECT_EQ(kept.indices[100], 150);
  EXPECT_EQ(kept.indices[349], 399);
  EXPECT_EQ(kept.indices[350], 401);
  for (std::size_t i = 0; i < kept.indices.size(); ++i)
    EXPECT_EQ(kept.values[i], samples[static_cast<std::size_t>(kept.indices[i])]);
  ASSERT_EQ(Keep::gaps.size(), 2u);
  EXPECT_EQ(Keep::gaps[0].begin, 100);
  EXPECT_EQ(Keep::gaps[0].lost, 50);
  EXPECT_EQ(Keep::gaps[1].begin, 400);
  EXPECT_EQ(Keep::gaps[1].lost, 1);
}

TEST(Gaps, ZerosStandForLostSamples) {
  std::vector<float> samples = ramp(1000);
  const std::vector<Loss> losses = {{0, 10}, {100, 333}, {999, 1}};
  const Kept kept = run_lossy("downmix", samples, losses, lossy(64, OnGap::zeros));
  for (const Loss& loss : losses) std::fill_n(samples.begin() + loss.at, loss.count, 0.0f);
  std::vector<std::int64_t> all(samples.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(kept.indices, all);
  EXPECT_EQ(kept.values, samples);
  EXPECT_EQ(Keep::gaps.size(), 3u);
}

// After a gap, a front end restarts on its own grid: the output equals a run over that part alone.
TEST(Gaps, EachPieceEqualsARunOverIt) {
  const std::vector<float> samples = ramp(9000);
  const std::string chain = "fbank num_mel_bins=8 ";
  for (const char* edges : {"snip_edges=true", "snip_edges=false"}) {
    for (const std::int64_t tick : {1, 97, 4096}) {
      SCOPED_TRACE(std::string(edges) + " tick " + std::to_string(tick));
      const GraphOptions options = lossy(tick, OnGap::reset);
      const Kept all = run_lossy(chain + edges, samples, {{3000, 555}}, options);
      const Kept before = run_lossy(chain + edges, {samples.begin(), samples.begin() + 3000}, {}, options);
      // 3555 is no multiple of the hop: the grid goes on at 3680 = 23 * 160.
      const Kept behind = run_lossy(chain + edges, {samples.begin() + 3680, samples.end()}, {}, options);
      Kept expected = before;
      for (const std::int64_t index : behind.indices) expected.indices.push_back(index + 23);
      expected.values.insert(expected.values.end(), behind.values.begin(), behind.values.end());
      EXPECT_EQ(all.indices, expected.indices);
      EXPECT_EQ(all.values, expected.values);
    }
  }
}

TEST(Gaps, ResamplersStayOnTheCommonGrid) {
  Lossy::sample_rate = 16000;
  const std::vector<float> samples = ramp(6000);
  const GraphOptions options = lossy(100, OnGap::reset);
  const Kept all = run_lossy("resample rate=6000", samples, {{3000, 9}}, options);  // 3 for every 8
  const Kept before = run_lossy("resample rate=6000", {samples.begin(), samples.begin() + 3000}, {}, options);
  const Kept behind = run_lossy("resample rate=6000", {samples.begin() + 3016, samples.end()}, {},
                                options);  // 3009 rounded up to 8 * 377
  Kept expected = before;
  for (const std::int64_t index : behind.indices) expected.indices.push_back(index + 377 * 3);
  expected.values.insert(expected.values.end(), behind.values.begin(), behind.values.end());
  EXPECT_EQ(all.indices, expected.indices);
  EXPECT_EQ(all.values, expected.values);
}

TEST(Gaps, AreCountedAndWrittenDown) {
  const TemporaryFolder folder;
  Lossy::samples = ramp(16000);
  Lossy::losses = {{1600, 800}};
  const fs::path out = folder.path() / "events.jsonl";
  const auto graph = run_graph("lossy ! fbank num_mel_bins=4 ! detect mode=clip ! jsonl path=" + out.string(),
                               lossy(160, OnGap::reset));
  EXPECT_EQ(graph->executor().lost(), 800);
  EXPECT_EQ(graph->executor().gaps(), 1);
  EXPECT_EQ(graph->executor().samples(), 15200);
  EXPECT_EQ(graph->executor().events(), 2) << "one decision for each piece";
  const std::string text = read_text(out);
  EXPECT_NE(text.find(R"({"type":"gap","source":"lossy","start":0.100,"end":0.150,"lost_samples":800})"),
            std::string::npos)
      << text;
  EXPECT_LT(text.find("\"event\""), text.find("\"gap\"")) << "what was heard before the gap comes before it";
}

TEST(FanOut, AllReadersGetTheSameFrames) {
  const TemporaryFolder folder;
  const auto samples = make_samples(12345);
  const std::string wav = (folder.path() / "a.wav").string(), one = (folder.path() / "1.npy").string(),
                    two = (folder.path() / "2.npy").string(), raw = (folder.path() / "raw.npy").string(),
                    copy = (folder.path() / "copy.wav").string();
  write_recording(wav, samples);
  run_graph("wav path=" + wav + " name=in ! fbank num_mel_bins=20 name=f ! npy path=" + one +
            "  f. ! npy path=" + two + "  in. ! npy path=" + raw + "  in. ! wav path=" + copy);
  EXPECT_EQ(read_npy(one).bytes, read_npy(two).bytes);
  EXPECT_EQ(read_npy(one).rows, 1 + (12345 - 400) / 160);
  EXPECT_EQ(read_npy(raw).rows, 12345);
  EXPECT_EQ(read_text(copy), read_text(wav)) << "16-bit samples pass unchanged";
}

TEST(Executor, RefusesStagesOutOfOrder) {
  HeapMemory memory;
  Keep sink;
  Lossy source;
  const Stage wrong[] = {{&sink, &Keep::type, "keep", 1}, {&source, &Lossy::type, "lossy", -1}};
  EXPECT_FALSE(Executor::make(wrong, {}, memory).ok());
  const Stage two[] = {{&source, &Lossy::type, "lossy", -1}, {&source, &Lossy::type, "lossy", -1}};
  EXPECT_FALSE(Executor::make(two, {}, memory).ok());
  EXPECT_FALSE(Executor::make({}, {}, memory).ok());
  const Stage good[] = {{&source, &Lossy::type, "lossy", -1}, {&sink, &Keep::type, "keep", 0}};
  EXPECT_FALSE(Executor::make(good, {.tick = 0}, memory).ok());
  EXPECT_TRUE(Executor::make(good, {.tick = 1}, memory).ok());
}

// Each allocation of prepare fails in turn: always an answer.
TEST(Executor, SurvivesAnyAmountOfMemory) {
  Lossy::samples = ramp(1000);
  Lossy::losses.clear();
  for (std::size_t limit = 0;; limit += 1 + limit / 7) {
    HeapMemory memory(limit);
    Lossy source;
    Keep sink;
    Node* fbank = nullptr;
    const NodeType* types[] = {&Lossy::type, nullptr, &Keep::type};
    for (const NodeType* type : test_nodes()) {
      if (type->name == "fbank") types[1] = type;
    }
    fbank = types[1]->make(memory);
    if (fbank == nullptr) continue;
    const Stage stages[] = {
        {&source, types[0], "lossy", -1}, {fbank, types[1], "fbank", 0}, {&sink, types[2], "keep", 1}};
    const Result<Executor*> executor = Executor::make(stages, {.tick = 160}, memory);
    fbank->~Node();
    if (executor.ok()) break;
    EXPECT_EQ(executor.status().code(), Code::out_of_memory) << executor.status().text();
    ASSERT_LT(limit, std::size_t{1} << 28);
  }
}

}  // namespace
}  // namespace runnel::pipeline::test
