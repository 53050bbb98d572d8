// What passes by a model (Format::beside) comes out with the model's output for the same frame: for blocks of
// any size, models that look ahead, gaps, and streams that are saved and restored.
#include "pipeline/nodes/model/passed_frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/import/load.h"
#include "compiler/write/writer.h"
#include "pipeline/nodes/model/infer.h"
#include "tests/inference/graph_builder.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

constexpr int kBins = 9;  // of stft n_fft=16
const std::string kSpectra = "stft n_fft=16 hop_length=8 window_type=sqrt_hann pad_mode=zero ! log_power";

class PassedFrames : public testing::Test {
 protected:
  // A convolution over three frames, `ahead` of them later ones.
  std::string model(int ahead, DType dtype, int stride = 1) {
    runnel::test::GraphBuilder b(3, dtype);
    const auto x = b.input({1, 40, kBins});
    runnel::test::GraphBuilder::Window window;
    window.kernel = 3;
    window.stride = stride;
    window.left = 2 - ahead;
    window.right = ahead;
    b.output(b.conv(b.conv(x, 5, window, 1, true), kBins, {}));
    return write(b, "m" + std::to_string(ahead) + std::to_string(stride) + std::string(name_of(dtype)));
  }
  std::string write(runnel::test::GraphBuilder& b, const std::string& name) {
    const auto written = compiler::write_model(b.graph());
    EXPECT_TRUE(written.ok()) << written.status().text();
    const std::string path = (folder_.path() / (name + ".rnl")).string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(written->bytes.data()),
               static_cast<std::streamsize>(written->bytes.size()));
    return path;
  }
  GraphOptions options(std::int64_t tick) {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = tick;
    result.models = &loader_;
    result.operators = all_operators();
    return result;
  }
  void SetUp() override {
    Lossy::sample_rate = 16000;
    Lossy::samples.clear();
    for (const std::int16_t sample : make_samples(3001))
      Lossy::samples.push_back(static_cast<float>(sample) / 32768);
    Lossy::losses.clear();
  }

  runnel::test::TemporaryFolder folder_;
  compiler::FileLoader loader_;
};

struct Rows {
  std::vector<float> values;
  std::vector<std::int64_t> indices;
};
Rows kept() { return {Keep::values, Keep::indices}; }

TEST_F(PassedFrames, ComeWithTheOutputOfTheirFrame) {
  for (const bool gaps : {false, true}) {
    if (gaps) Lossy::losses = {{1000, 10}, {1700, 333}};
    for (const DType dtype : {DType::float32, DType::int8, DType::int16}) {
      for (const int ahead : {0, 1, 2}) {
        SCOPED_TRACE(testing::Message()
                     << "gaps " << gaps << " " << name_of(dtype) << " " << ahead << " frames ahead");
        const std::string file = model(ahead, dtype);
        run_graph("lossy ! " + kSpectra + " ! keep", options(64));
        const Rows front = kept();
        run_graph("lossy ! " + kSpectra + " keep=false ! infer dequantize=true model=" + file + " ! keep",
                  options(64));
        const Rows alone = kept();
        ASSERT_FALSE(alone.indices.empty());
        for (const auto& [tick, chunk] :
             {std::pair<std::int64_t, int>{1, 0}, {8, 1}, {64, 4}, {1000, 7}, {16000, 0}, {333, 0}}) {
          run_graph("lossy ! " + kSpectra + " ! infer chunk=" + std::to_string(chunk) + " model=" + file +
                        " ! keep",
                    options(tick));
          EXPECT_EQ(Keep::format.dtype, DType::float32);
          EXPECT_EQ(Keep::format.channels, 3 * kBins);
          EXPECT_EQ(Keep::format.beside, 0);
          ASSERT_EQ(Keep::indices, alone.indices) << "tick " << tick << " chunk " << chunk;
          for (std::size_t i = 0; i < alone.indices.size(); ++i) {
            const auto row = Keep::values.begin() + static_cast<std::ptrdiff_t>(i * 3 * kBins);
            const auto at = static_cast<std::size_t>(
                std::find(front.indices.begin(), front.indices.end(), alone.indices[i]) -
                front.indices.begin());
            ASSERT_LT(at, front.indices.size());
            ASSERT_TRUE(std::equal(row, row + 2 * kBins,
                                   front.values.begin() + static_cast<std::ptrdiff_t>(at * 3 * kBins)))
                << "frame " << alone.indices[i] << ", tick " << tick << " chunk " << chunk;
            ASSERT_TRUE(std::equal(row + 2 * kBins, row + 3 * kBins,
                                   alone.values.begin() + static_cast<std::ptrdiff_t>(i * kBins)))
                << "frame " << alone.indices[i] << ", tick " << tick << " chunk " << chunk;
          }
        }
      }
    }
  }
}

// A node that does not know of them: they are its values like any others.
TEST_F(PassedFrames, EndWithANodeThatDoesNotKnowThem) {
  run_graph("lossy ! " + kSpectra + " ! cmvn mean=0 deviation=1 ! keep", options(64));
  EXPECT_EQ(Keep::format.channels, 3 * kBins);
  EXPECT_EQ(Keep::format.beside, 0);
}

TEST_F(PassedFrames, NeedAModelWithOneFrameForEach) {
  const std::string text = failure_of(
      "lossy ! " + kSpectra + " ! infer model=" + model(0, DType::int8, 2) + " ! keep", options(64));
  EXPECT_NE(text.find("pass by the model, which has another frame rate"), std::string::npos) << text;
}

TEST_F(PassedFrames, NeedAModelThatIsStreamed) {
  runnel::test::GraphBuilder b(9, DType::float32);
  const auto x = b.input({1, 12, kBins});
  runnel::test::GraphBuilder::Window all;
  all.kernel = all.stride = 12;
  b.output(b.conv(x, kBins, all, 1, true));
  b.graph().pipeline.usage = UsageKind::window;
  b.graph().pipeline.window = 12;
  b.graph().pipeline.hop = 7;
  const std::string text =
      failure_of("lossy ! " + kSpectra + " ! infer model=" + write(b, "window") + " ! keep", options(64));
  EXPECT_NE(text.find("expected a model that is streamed"), std::string::npos) << text;
}

// Of the node alone, as programs save it.
TEST_F(PassedFrames, AreSavedAndRestored) {
  const std::string file = model(2, DType::int8);
  const auto make = [&](pipeline::Infer& node, NodeContext& context) {
    node.model = file;
    node.chunk = 4;
    context.models = &loader_;
    context.operators = all_operators();
    context.input.beside = 2 * kBins;
    context.output = context.input;
    context.output.beside = 0;
    const Status status = node.prepare(context);
    ASSERT_TRUE(status.ok()) << status.text();
    node.reset(0);
  };
  constexpr int kFrames = 30, kRow = 3 * kBins;
  std::vector<float> frames(kFrames * kRow);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<float>(i % 97) / 50 - 1;
  const auto push = [&](pipeline::Infer& node, int from, int count, std::vector<float>& to) {
    std::vector<float> room(64 * kRow);
    Output out;
    out.data = reinterpret_cast<std::byte*>(room.data());
    out.capacity = 64;
    Block in;
    in.data = reinterpret_cast<const std::byte*>(frames.data() + from * kRow);
    in.count = count;
    in.first = from;
    EXPECT_TRUE(node.process(in, out).ok());
    to.insert(to.end(), room.begin(), room.begin() + out.count * kRow);
  };
  const auto context_of = [](HeapMemory& memory) {
    NodeContext context{.memory = memory,
                        .label = "infer",
                        .input_label = "test",
                        .input = {},
                        .max_input = 32,
                        .operators = {},
                        .fast = {},
                        .output = {},
                        .fix = {}};
    context.input.kind = Kind::frames;
    context.input.dtype = DType::float32;
    context.input.channels = kRow;
    return context;
  };
  HeapMemory memory, other;
  PassingBy<pipeline::Infer> node, copy;
  NodeContext context = context_of(memory), second = context_of(other);
  make(node, context);
  make(copy, second);
  std::vector<float> expected, found;
  push(node, 0, 13, expected);
  std::vector<std::byte> saved(node.saved_bytes());
  ASSERT_TRUE(node.save(saved).ok());
  std::vector<float> unused;
  push(copy, 5, 9, unused);  // its state is another
  ASSERT_TRUE(copy.restore(saved).ok());
  expected.clear();
  push(node, 13, 17, expected);
  push(copy, 13, 17, found);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(found, expected);
  saved[saved.size() / 2] ^= std::byte{1};
  EXPECT_FALSE(copy.restore(saved).ok());
}

}  // namespace
}  // namespace runnel::pipeline::test
