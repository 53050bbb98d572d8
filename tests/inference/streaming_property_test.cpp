// Streamed equals whole, bit for bit, over random graphs: the properties of docs/streaming.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "inference/host/check.h"
#include "inference/host/receptive_field.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using test::GraphBuilder;

class RandomGraph {
 public:
  RandomGraph(std::uint32_t seed, DType dtype) : random_(seed), builder_(seed * 7 + 1, dtype) {
    if (uniform(0, 1) != 0) builder_.rounding(kernels::Rounding::half_even);
    auto x = builder_.input({1, kReference, uniform(1, 5)});
    for (int stages = uniform(1, 6); stages-- > 0;) x = stage(x);
    builder_.output(x);
  }
  GraphBuilder& builder() { return builder_; }
  std::string story() const { return story_.str(); }
  // Every tensor has at least one frame at the reference length.
  bool legal() const { return legal_; }

 private:
  static constexpr int kReference = 240;
  using Id = GraphBuilder::Id;
  using Window = GraphBuilder::Window;

  int uniform(int low, int high) { return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)); }
  Window window(int most_kernel, int most_stride, int most_dilation) {
    Window w;
    w.kernel = uniform(1, most_kernel);
    w.stride = uniform(1, most_stride);
    w.dilation = uniform(1, most_dilation);
    w.left = uniform(0, w.extent() - 1);
    w.right = uniform(0, w.extent() - 1);
    return w;
  }
  void tell(const char* what, const Window& w = {}) {
    story_ << ' ' << what << "(k" << w.kernel << " s" << w.stride << " d" << w.dilation << " P" << w.left << " Q" << w.right << ')';
  }
  Id check(Id x) {
    legal_ = legal_ && std::all_of(builder_.shape(x).begin(), builder_.shape(x).end(), [](int dim) { return dim > 0; });
    return x;
  }

  Id stage(Id x) {
    if (!legal_) return x;
    const int channels = builder_.shape(x)[2], frames = builder_.shape(x)[1];
    switch (uniform(0, 11)) {
      case 0: {
        const Window w = window(5, 3, 3);
        tell("conv", w);
        return check(builder_.conv(x, uniform(1, 6), w, 1, uniform(0, 1) != 0, uniform(0, 1) != 0));
      }
      case 1: {
        const Window w = window(5, 2, 3);
        tell("depthwise", w);
        return check(builder_.conv(x, channels, w, channels, uniform(0, 1) != 0));
      }
      case 2: {
        Window w = window(4, 3, 2);
        const bool max = uniform(0, 1) != 0, count = uniform(0, 1) != 0;
        tell(max ? "max_pool" : count ? "average_pool" : "average_pool_uncounted", w);
        return check(builder_.pool(x, max, w, count));
      }
      case 3: tell("lut"); return builder_.lut(x);
      case 4: tell("relu"); return builder_.relu(x);
      case 5: tell("requantize"); return builder_.requantize(x, uniform(-6, -3));
      case 6: {  // residual over one or two centred or causal convolutions
        Id y = x;
        for (int i = uniform(1, 2); i-- > 0;) {
          Window w = window(5, 1, 2);
          w.right = w.extent() - 1 - w.left;
          tell("res", w);
          y = check(builder_.conv(y, channels, w));
        }
        const bool swap = uniform(0, 1) != 0;
        return builder_.binary(uniform(0, 1) != 0 ? fb::OpCode::add : fb::OpCode::mul, swap ? y : x, swap ? x : y, uniform(1, 2), uniform(0, 1) != 0);
      }
      case 7: {  // two strided branches of equal length, concatenated
        const Window w = window(4, 3, 1);
        Window v = w;
        v.kernel = uniform(1, 4);
        v.left = uniform(0, v.kernel - 1);
        v.right = w.left + w.right - w.kernel + v.kernel - v.left;
        if (v.right < 0 || v.right > v.kernel - 1) v = w;
        tell("branch", w);
        tell("branch", v);
        const Id a = check(builder_.conv(x, uniform(1, 4), w));
        const Id b = check(uniform(0, 1) != 0 ? builder_.conv(x, uniform(1, 4), v) : builder_.pool(x, uniform(0, 1) != 0, v));
        return builder_.concat({a, b}, 2);
      }
      case 8: {
        const int begin = uniform(0, 4), cut = uniform(0, 3);
        if (frames - begin - cut < 1) return x;
        story_ << " slice(" << begin << ',' << cut << ')';
        return builder_.slice(x, 1, begin, frames - begin - cut);
      }
      case 9: {
        const int before = uniform(0, 4), after = uniform(0, 3);
        story_ << " pad(" << before << ',' << after << ')';
        return builder_.pad(x, 1, before, after, uniform(-20, 20));
      }
      case 10: {  // the same tensor read by windows of different padding values
        const Window w = window(4, 1, 1);
        Window v = w;
        tell("fan", w);
        const Id a = check(builder_.conv(x, channels, w)), b = check(builder_.pool(x, true, v));
        return builder_.binary(fb::OpCode::add, a, b);
      }
      default: {  // two-dimensional, time as height
        Window w = window(4, 2, 2), f = window(3, 1, 1);
        tell("conv2d", w);
        const Id wide = builder_.reshape(x, {1, frames, channels, 1});
        const Id y = check(builder_.conv2d(wide, uniform(1, 3), w, f));
        const auto& shape = builder_.shape(y);
        return legal_ ? builder_.reshape(y, {1, shape[1], shape[2] * shape[3]}) : y;
      }
    }
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  std::ostringstream story_;
  bool legal_ = true;
};

void run(std::uint32_t first, int graphs, DType dtype) {
  int done = 0, refused = 0;
  for (std::uint32_t seed = first; done < graphs; ++seed) {
    RandomGraph random(seed, dtype);
    if (!random.legal()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ":" + random.story());
    std::vector<std::string> refusals;
    const auto model = random.builder().build(&refusals);
    ASSERT_TRUE(model.ok()) << model.status().text();
    if (!refusals.empty()) {
      // Only joins whose lengths differ may be refused here.
      ASSERT_NE(refusals[0].find("lengths"), std::string::npos) << refusals[0];
      ++refused;
      ++done;
      continue;
    }
    const std::int64_t frames = static_cast<std::int64_t>(seed % 71);
    const auto report = check_streaming(*model, frames, {}, seed);
    ASSERT_TRUE(report.ok()) << report.status().text();
    for (const Difference& difference : report->differences) {
      ADD_FAILURE() << frames << " frames, " << difference.run << ": tensor " << difference.tensor << " frame " << difference.frame << " element "
                    << difference.element << ": expected " << difference.expected << ", found " << difference.found;
    }
    ASSERT_TRUE(report->differences.empty());
    ++done;
  }
  EXPECT_LT(refused, graphs / 4);
}

TEST(StreamingProperty, RandomInt8GraphsStreamExactly) { run(1, 400, DType::int8); }
TEST(StreamingProperty, RandomInt16GraphsStreamExactly) { run(100001, 150, DType::int16); }
TEST(StreamingPropertyLong, RandomInt8GraphsStreamExactly) { run(200001, 5000, DType::int8); }

// Changing a source frame outside the predicted receptive field changes nothing; at its edges something does.
TEST(StreamingProperty, ReceptiveFieldsAreTight) {
  GraphBuilder builder(5);
  auto x = builder.input({1, 60, 2});
  x = builder.conv(x, 3, {.kernel = 5, .stride = 2, .dilation = 2, .left = 3, .right = 5});
  x = builder.conv(x, 2, {.kernel = 3, .stride = 1, .dilation = 1, .left = 1, .right = 1});
  builder.output(x);
  const auto model = builder.build();
  ASSERT_TRUE(model.ok()) << model.status().text();
  PrepareOptions options;
  options.mode = RunMode::whole;
  const auto engine = Engine::make(*model, options);
  ASSERT_TRUE(engine.ok()) << engine.status().text();
  const auto runner = Runner::make(*engine);
  ASSERT_TRUE(runner.ok());
  Session& session = (*runner)->session();
  const std::int32_t out = (*model)->model().outputs()[0];
  const auto outputs = [&](int changed, int value) {
    auto input = session.input(0);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>((i * 37 + 11) % 40);
    if (changed >= 0) {
      for (std::size_t c = 0; c < 2; ++c) input[static_cast<std::size_t>(changed) * 2 + c] = static_cast<std::byte>(value);
    }
    session.run((*engine)->prepared().block());
    const auto bytes = session.tensor(out);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  PrepareOptions stream;
  const auto streamed = Engine::make(*model, stream);
  ASSERT_TRUE(streamed.ok()) << streamed.status().text();
  const ReceptiveField field = receptive_fields((*streamed)->prepared())[static_cast<std::size_t>(out)];
  const std::vector<std::byte> base = outputs(-1, 0);
  const std::int64_t j = 12, width = 2;
  std::int64_t lowest = 1000, highest = -1;
  for (int frame = 0; frame < 60; ++frame) {
    for (const int value : {-128, 127, 60}) {
      const auto changed = outputs(frame, value);
      for (std::int64_t c = 0; c < width; ++c) {
        if (changed[static_cast<std::size_t>(j * width + c)] == base[static_cast<std::size_t>(j * width + c)]) continue;
        lowest = std::min<std::int64_t>(lowest, frame);
        highest = std::max<std::int64_t>(highest, frame);
      }
    }
  }
  EXPECT_EQ(static_cast<double>(lowest), static_cast<double>(j) * field.stride + field.first);
  EXPECT_EQ(static_cast<double>(highest), static_cast<double>(j) * field.stride + field.last);
}

}  // namespace
}  // namespace runnel
