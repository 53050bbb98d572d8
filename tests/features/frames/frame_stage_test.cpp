// Deltas, stacking and running normalisation against their offline definitions in double precision,
// at every length.
#include "features/frames/frame_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "features/frames/deltas.h"
#include "features/frames/frame_stack.h"
#include "features/frames/running_cmvn.h"

namespace runnel::features {
namespace {

constexpr std::size_t kDims = 3;
using Matrix = std::vector<std::vector<double>>;

Matrix noise(std::size_t frames) {
  std::mt19937 random(static_cast<unsigned>(frames) + 1);
  Matrix x(frames, std::vector<double>(kDims));
  for (auto& frame : x) {
    for (double& value : frame)
      value = static_cast<double>(static_cast<float>(static_cast<std::int32_t>(random())) / 268435456.0F + 3);
  }
  return x;
}

Matrix run(FrameStage& stage, const Matrix& x) {
  Matrix out;
  std::vector<float> frame(kDims), result(stage.out_dims());
  std::size_t burst = 0;
  const auto pull = [&] {
    for (burst = 0; stage.pull(result.data()); ++burst) out.emplace_back(result.begin(), result.end());
    EXPECT_LE(burst, stage.most_waiting() + 1);
  };
  for (const auto& values : x) {
    std::copy(values.begin(), values.end(), frame.begin());
    EXPECT_TRUE(stage.push(frame.data()).ok());
    pull();
  }
  stage.finish();
  pull();
  return out;
}

// Runs twice, with a reset between, and compares with `expected` of every length.
template <class Make, class Expected>
void expect_definition(Make make, Expected expected, double tolerance) {
  for (const std::size_t frames : {0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 40, 99}) {
    SCOPED_TRACE(frames);
    HeapMemory memory;
    auto stage = make(memory);
    const Matrix x = noise(frames), want = expected(x), got = run(stage, x);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t t = 0; t < got.size(); ++t) {
      ASSERT_EQ(got[t].size(), want[t].size());
      for (std::size_t i = 0; i < got[t].size(); ++i)
        ASSERT_NEAR(got[t][i], want[t][i], tolerance) << t << " " << i;
    }
    stage.reset();
    EXPECT_EQ(run(stage, x), got);
  }
}

Matrix deltas_of(const Matrix& x, std::int64_t reach) {
  Matrix out = x;
  const auto last = static_cast<std::int64_t>(x.size()) - 1;
  for (std::int64_t t = 0; t <= last; ++t) {
    for (std::size_t i = 0; i < kDims; ++i) {
      double sum = 0, squares = 0;
      for (std::int64_t k = -reach; k <= reach; ++k) {
        sum +=
            static_cast<double>(k) * x[static_cast<std::size_t>(std::clamp<std::int64_t>(t + k, 0, last))][i];
        squares += static_cast<double>(k * k);
      }
      out[static_cast<std::size_t>(t)][i] = sum / squares;
    }
  }
  return out;
}

TEST(Deltas, AreTheRegressionOverReplicatedEdges) {
  for (const int window : {3, 5, 9}) {
    for (const int order : {1, 2}) {
      for (const bool with_static : {true, false}) {
        const auto make = [&](Memory& memory) {
          Deltas deltas;
          EXPECT_TRUE(deltas.init({window, order, with_static}, kDims, memory).ok());
          EXPECT_EQ(deltas.look_ahead(), static_cast<std::size_t>((window - 1) / 2 * order));
          return deltas;
        };
        const auto expected = [&](const Matrix& x) {
          Matrix out = with_static ? x : Matrix(x.size()), level = x;
          for (int i = 0; i < order; ++i) {
            level = deltas_of(level, (window - 1) / 2);
            for (std::size_t t = 0; t < x.size(); ++t)
              out[t].insert(out[t].end(), level[t].begin(), level[t].end());
          }
          return out;
        };
        expect_definition(make, expected, 2e-6);
      }
    }
  }
}

// The reported look-ahead is the one needed in the middle of a recording.
TEST(Deltas, AppearAfterTheirLookAhead) {
  HeapMemory memory;
  Deltas deltas;
  ASSERT_TRUE(deltas.init({}, kDims, memory).ok());
  std::vector<float> out(deltas.out_dims());
  const Matrix x = noise(30);
  for (std::size_t t = 0; t < x.size(); ++t) {
    const std::vector<float> frame(x[t].begin(), x[t].end());
    ASSERT_TRUE(deltas.push(frame.data()).ok());
    EXPECT_EQ(deltas.pull(out.data()), t >= deltas.look_ahead()) << t;
    EXPECT_FALSE(deltas.pull(out.data()));
  }
}

TEST(FrameStack, StacksAsLowFrameRateFeatures) {
  for (const auto& [frames, step] : {std::pair(7, 6), std::pair(1, 1), std::pair(4, 2), std::pair(3, 5)}) {
    const auto make = [&, frames = frames, step = step](bool pad) {
      return [=](Memory& memory) {
        FrameStack stack;
        EXPECT_TRUE(stack.init({frames, step, pad}, kDims, memory).ok());
        return stack;
      };
    };
    const std::int64_t m = frames, n = step;
    // As in the training code: copies of the first frame before, and of the last one after.
    const auto padded = [m, n](const Matrix& x) {
      Matrix all((x.empty() ? 0 : static_cast<std::size_t>(m - 1) / 2),
                 x.empty() ? std::vector<double>() : x.front()),
          out;
      all.insert(all.end(), x.begin(), x.end());
      const auto count = (static_cast<std::int64_t>(x.size()) + n - 1) / n;
      for (std::int64_t i = 0; i < count; ++i) {
        out.emplace_back();
        for (std::int64_t j = i * n; j < i * n + m; ++j) {
          const auto& frame = all[static_cast<std::size_t>(
              std::min<std::int64_t>(j, static_cast<std::int64_t>(all.size()) - 1))];
          out.back().insert(out.back().end(), frame.begin(), frame.end());
        }
      }
      return out;
    };
    const auto whole = [m, n](const Matrix& x) {
      Matrix out;
      for (std::int64_t first = 0; first + m <= static_cast<std::int64_t>(x.size()); first += n) {
        out.emplace_back();
        for (std::int64_t j = first; j < first + m; ++j)
          out.back().insert(out.back().end(), x[static_cast<std::size_t>(j)].begin(),
                            x[static_cast<std::size_t>(j)].end());
      }
      return out;
    };
    expect_definition(make(true), padded, 0);
    expect_definition(make(false), whole, 0);
  }
}

// (x - mean) / deviation over frames [begin, end).
double normalised(const Matrix& x, std::size_t t, std::size_t i, std::int64_t begin, std::int64_t end,
                  bool variance) {
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(end - begin);
  for (std::int64_t j = begin; j < end; ++j) mean += x[static_cast<std::size_t>(j)][i] / count;
  for (std::int64_t j = begin; j < end; ++j)
    squares += std::pow(x[static_cast<std::size_t>(j)][i] - mean, 2) / count;
  if (!variance) return x[t][i] - mean;
  return end - begin == 1 ? 0 : (x[t][i] - mean) / std::sqrt(std::max(squares, 1e-10));
}

TEST(SlidingCmvn, UsesKaldisWindows) {
  for (const SlidingCmvnSpec& spec :
       {SlidingCmvnSpec{10, 4, false, true}, SlidingCmvnSpec{10, 4, false, false},
        SlidingCmvnSpec{10, 1, true, true}, SlidingCmvnSpec{7, 1, true, false},
        SlidingCmvnSpec{600, 100, false, true}}) {
    const auto make = [&](Memory& memory) {
      SlidingCmvn cmvn;
      EXPECT_TRUE(cmvn.init(spec, kDims, memory).ok());
      return cmvn;
    };
    const auto expected = [&](const Matrix& x) {
      Matrix out = x;
      const auto frames = static_cast<std::int64_t>(x.size());
      for (std::int64_t t = 0; t < frames; ++t) {
        std::int64_t begin = spec.center ? t - spec.window / 2 : t - spec.window,
                     end = spec.center ? begin + spec.window : t + 1;
        if (begin < 0) {
          end -= begin;
          begin = 0;
        }
        if (!spec.center && end > t) end = std::max<std::int64_t>(t + 1, spec.min_window);
        if (end > frames) {
          begin = std::max<std::int64_t>(begin - (end - frames), 0);
          end = frames;
        }
        for (std::size_t i = 0; i < kDims; ++i)
          out[static_cast<std::size_t>(t)][i] =
              normalised(x, static_cast<std::size_t>(t), i, begin, end, spec.variance);
      }
      return out;
    };
    expect_definition(make, expected, 2e-5);
  }
}

TEST(MirrorCmvn, IsSpeechPysWindowOverSymmetricPadding) {
  const auto mirrored = [](const Matrix& x, std::int64_t at) {
    const auto n = static_cast<std::int64_t>(x.size());
    while (at < 0 || at >= n) at = at < 0 ? -1 - at : 2 * n - 1 - at;
    return x[static_cast<std::size_t>(at)];
  };
  for (const bool variance : {true, false}) {
    for (const int window : {5, 31}) {
      const auto make = [&](Memory& memory) {
        MirrorCmvn cmvn;
        EXPECT_TRUE(cmvn.init({window, variance}, kDims, memory).ok());
        return cmvn;
      };
      const auto expected = [&](const Matrix& x) {
        Matrix centred = x, out = x;
        const auto window_of = [&](const Matrix& from, std::size_t t, std::size_t i) {
          std::vector<double> values;
          for (int j = -(window / 2); j <= window / 2; ++j)
            values.push_back(mirrored(from, static_cast<std::int64_t>(t) + j)[i]);
          return values;
        };
        const auto mean_of = [](const std::vector<double>& values) {
          double sum = 0;
          for (const double value : values) sum += value / static_cast<double>(values.size());
          return sum;
        };
        for (std::size_t t = 0; t < x.size(); ++t) {
          for (std::size_t i = 0; i < kDims; ++i) centred[t][i] = x[t][i] - mean_of(window_of(x, t, i));
        }
        for (std::size_t t = 0; t < x.size(); ++t) {
          for (std::size_t i = 0; i < kDims; ++i) {
            std::vector<double> values = window_of(centred, t, i);
            const double mean = mean_of(values);
            for (double& value : values) value = (value - mean) * (value - mean);
            // A single frame is its own mean; its rounding error here must not be divided by 1e-10.
            out[t][i] = x.size() == 1 ? 0
                        : variance    ? centred[t][i] / (std::sqrt(mean_of(values)) + 1e-10)
                                      : centred[t][i];
          }
        }
        return out;
      };
      expect_definition(make, expected, 2e-5);
    }
  }
}

TEST(ExponentialCmvn, WeighsThePastByItsAge) {
  for (const bool variance : {true, false}) {
    const auto make = [&](Memory& memory) {
      ExponentialCmvn cmvn;
      EXPECT_TRUE(cmvn.init({20, variance}, kDims, memory).ok());
      return cmvn;
    };
    const auto expected = [&](const Matrix& x) {
      Matrix out = x;
      for (std::size_t t = 0; t < x.size(); ++t) {
        for (std::size_t i = 0; i < kDims; ++i) {
          double weights = 0, sum = 0, squares = 0;
          for (std::size_t j = 0; j <= t; ++j) {
            const double weight = std::exp(-static_cast<double>(t - j) / 20);
            weights += weight;
            sum += weight * x[j][i];
          }
          const double mean = sum / weights;
          for (std::size_t j = 0; j <= t; ++j)
            squares += std::exp(-static_cast<double>(t - j) / 20) * std::pow(x[j][i] - mean, 2);
          out[t][i] = (x[t][i] - mean) / (variance ? std::sqrt(std::max(squares / weights, 1e-10)) : 1);
        }
      }
      return out;
    };
    expect_definition(make, expected, 2e-5);
  }
}

TEST(UtteranceCmvn, NormalisesTheWholeAndRefusesMoreThanItHolds) {
  for (const bool variance : {true, false}) {
    const auto make = [&](Memory& memory) {
      UtteranceCmvn cmvn;
      EXPECT_TRUE(cmvn.init({99, variance}, kDims, memory).ok());
      return cmvn;
    };
    const auto expected = [&](const Matrix& x) {
      Matrix out = x;
      for (std::size_t t = 0; t < x.size(); ++t) {
        for (std::size_t i = 0; i < kDims; ++i)
          out[t][i] = normalised(x, t, i, 0, static_cast<std::int64_t>(x.size()), variance);
      }
      return out;
    };
    expect_definition(make, expected, 2e-5);
  }
  const auto ranged = [](Memory& memory) {
    UtteranceCmvn cmvn;
    EXPECT_TRUE(cmvn.init({.max_frames = 99, .range = true}, kDims, memory).ok());
    return cmvn;
  };
  const auto stretched = [](const Matrix& x) {
    Matrix out = x;
    double least = 1e300, largest = -1e300;
    for (const auto& frame : x) {
      for (const double value : frame) {
        least = std::min(least, value);
        largest = std::max(largest, value);
      }
    }
    for (auto& frame : out) {
      for (double& value : frame) value = largest > least ? (value - least) / (largest - least) : 0;
    }
    return out;
  };
  expect_definition(ranged, stretched, 1e-6);
  HeapMemory memory;
  UtteranceCmvn cmvn;
  ASSERT_TRUE(cmvn.init({2, true}, kDims, memory).ok());
  const std::vector<float> frame(kDims);
  EXPECT_TRUE(cmvn.push(frame.data()).ok());
  EXPECT_TRUE(cmvn.push(frame.data()).ok());
  EXPECT_EQ(cmvn.push(frame.data()).code(), Code::invalid_data);
}

TEST(FrameStages, RefuseBadSettingsByName) {
  HeapMemory memory;
  Deltas deltas;
  EXPECT_EQ(deltas.init({4, 1, true}, 3, memory).text(),
            "window 4 of deltas: expected an odd number from 3 to 99");
  EXPECT_EQ(deltas.init({5, 3, true}, 3, memory).text(), "order 3 of deltas: expected 1 or 2");
  FrameStack stack;
  EXPECT_EQ(stack.init({0, 1, true}, 3, memory).text(), "frames 0 of stack: expected 1 to 1000");
  EXPECT_EQ(stack.init({1, 0, true}, 3, memory).text(), "step 0 of stack: expected 1 to 1000");
  SlidingCmvn sliding;
  EXPECT_EQ(sliding.init({0, 1, true, true}, 3, memory).text(),
            "window 0 of cmvn: expected 1 to 100000 frames");
  EXPECT_EQ(sliding.init({10, 11, true, true}, 3, memory).text(),
            "min_window 11 of cmvn: expected 1 to window, 10 frames");
  MirrorCmvn mirror;
  EXPECT_EQ(mirror.init({100, true}, 3, memory).text(),
            "window 100 of cmvn: expected an odd number of frames from 3 to 9999");
  ExponentialCmvn exponential;
  EXPECT_EQ(exponential.init({0.5F, true}, 3, memory).code(), Code::invalid_argument);
  HeapMemory none(8);
  EXPECT_EQ(deltas.init({}, 3, none).code(), Code::out_of_memory);
}

}  // namespace
}  // namespace runnel::features
