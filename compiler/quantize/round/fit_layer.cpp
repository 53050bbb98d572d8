#include "compiler/quantize/round/fit_layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr int kSweeps = 30;

// Channels that are solved and rounded together: each sum takes its summands in order, and sums of several
// channels do not wait for each other.
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

// min over integers of w' h w - 2 c' w, w = step * integers; h symmetric and positive definite.
class Quadratic {
 public:
  Quadratic(std::vector<double> h, std::size_t size) : h_(std::move(h)), upper_(size * size), size_(size) {
    factorize();
    shares_.resize(size * size);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = i; k < size; ++k)
        shares_[i * size + k] = upper_[i * size + k] / upper_[i * size + i];
    }
  }

  // The real w of least error, for c in place of it.
  void solve(std::vector<Lanes>& c) const {
    for (std::size_t k = 0; k < size_; ++k) {
      for (double& value : c[k]) value /= upper_[k * size_ + k];
      for (std::size_t i = k + 1; i < size_; ++i) subtract(c[i], upper_[k * size_ + i], c[k]);
    }
    for (std::size_t i = size_; i-- > 0;) {
      Lanes sum = c[i];
      for (std::size_t k = i + 1; k < size_; ++k) subtract(sum, upper_[i * size_ + k], c[k]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) c[i][lane] = sum[lane] / upper_[i * size_ + i];
    }
  }

  // Rounds in order, each time moving the rest to make up for it.
  [[nodiscard]] std::vector<Lanes> round_in_order(const std::vector<Lanes>& best, const Lanes& step,
                                                  double low, double high) const {
    std::vector<Lanes> off(size_);  // integer * step - best
    std::vector<Lanes> integers(size_);
    for (std::size_t k = size_; k-- > 0;) {
      Lanes centre = best[k];
      for (std::size_t j = k + 1; j < size_; ++j) subtract(centre, shares_[k * size_ + j], off[j]);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double integer = std::clamp(std::nearbyint(centre[lane] / step[lane]), low, high);
        integers[k][lane] = integer;
        off[k][lane] = integer * step[lane] - best[k][lane];
      }
    }
    return integers;
  }

  // Changes single integers of one channel as long as that helps.
  void improve(const std::vector<double>& c, double step, double low, double high,
               std::vector<std::int32_t>& integers) const {
    std::vector<double> gradient(size_);  // h w - c
    for (std::size_t i = 0; i < size_; ++i) gradient[i] = -c[i];
    add_product(integers, step, gradient);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      for (std::size_t k = 0; k < size_; ++k) {
        const double better =
            std::clamp(std::nearbyint(integers[k] - gradient[k] / (h_[k * size_ + k] * step)), low, high);
        const double change = better - integers[k];
        if (change == 0) continue;
        integers[k] = static_cast<std::int32_t>(better);
        for (std::size_t i = 0; i < size_; ++i) gradient[i] += h_[k * size_ + i] * change * step;
        changed = true;
      }
      if (!changed) break;
    }
  }

  [[nodiscard]] double error(const std::vector<std::int32_t>& integers, const std::vector<double>& c,
                             double step) const {
    std::vector<double> rows(size_, 0.0);
    add_product(integers, step, rows);
    double sum = 0;
    for (std::size_t i = 0; i < size_; ++i) sum += integers[i] * step * (rows[i] - 2 * c[i]);
    return sum;
  }

 private:
  static void subtract(Lanes& from, double factor, const Lanes& values) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) from[lane] -= factor * values[lane];
  }

  // h = u' u (Cholesky), a few rows of u at a time, so that those above are read less often.
  void factorize() {
    constexpr std::size_t kRows = 8;
    for (std::size_t first = 0; first < size_; first += kRows) {
      const std::size_t end = std::min(first + kRows, size_);
      for (std::size_t j = first; j < end; ++j) {
        for (std::size_t i = j; i < size_; ++i) upper_[j * size_ + i] = h_[i * size_ + j];
      }
      for (std::size_t k = 0; k < first; ++k) {
        for (std::size_t j = first; j < end; ++j) subtract_row(k, j);
      }
      for (std::size_t j = first; j < end; ++j) {
        for (std::size_t k = first; k < j; ++k) subtract_row(k, j);
        double* const row = &upper_[j * size_];
        const double diagonal = std::sqrt(std::max(row[j], 1e-30));
        row[j] = diagonal;
        for (std::size_t i = j + 1; i < size_; ++i) row[i] /= diagonal;
      }
    }
  }
  void subtract_row(std::size_t k, std::size_t j) {
    const double* const above = &upper_[k * size_];
    double* const row = &upper_[j * size_];
    const double factor = above[j];
    for (std::size_t i = j; i < size_; ++i) row[i] -= above[i] * factor;
  }

  // Adds h w to `to`. Each element takes its summands in order; those of different ones do not wait for each
  // other, as they would in a sum over a row, and h is symmetric.
  void add_product(const std::vector<std::int32_t>& integers, double step, std::vector<double>& to) const {
    constexpr std::size_t kTogether = 4;
    std::size_t j = 0;
    for (; j + kTogether <= size_; j += kTogether) {
      const double* const a = h_.data() + j * size_;
      const double *const b = a + size_, *const c = b + size_, *const d = c + size_;
      const double wa = integers[j], wb = integers[j + 1], wc = integers[j + 2], wd = integers[j + 3];
      for (std::size_t i = 0; i < size_; ++i)
        to[i] = to[i] + a[i] * wa * step + b[i] * wb * step + c[i] * wc * step + d[i] * wd * step;
    }
    for (; j < size_; ++j) {
      for (std::size_t i = 0; i < size_; ++i) to[i] += h_[j * size_ + i] * integers[j] * step;
    }
  }

  std::vector<double> h_;
  std::vector<double> upper_;   // u, by rows
  std::vector<double> shares_;  // the same, each row over its diagonal
  std::size_t size_;
};

// What is to be minimized for a group (h) and for one of its channels (c). With a free bias both are about
// the means.
std::vector<double> quadratic_of(const GramMatrix& gram, std::size_t group, bool free_bias, double hold) {
  const std::size_t row = gram.shape().row;
  const auto products = gram.products(group), sums = gram.sums(group);
  std::vector<double> h(row * row);
  for (std::size_t i = 0; i < row; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      h[i * row + j] = h[j * row + i] =
          products[i * row + j] - (free_bias ? sums[i] * sums[j] / gram.count() : 0);
    h[i * row + i] += hold;
  }
  return h;
}

double hold_of(const GramMatrix& gram, std::size_t group, double share) {
  const std::size_t row = gram.shape().row;
  double sum = 0;
  for (std::size_t i = 0; i < row; ++i) sum += gram.products(group)[i * row + i];
  return share * sum / static_cast<double>(row) + 1e-12;
}

// Chooses the integers of all rows together, on the grids that `layer` has or finer ones where `fits` (entry,
// step) allows. `shifts`: results in which the weights have no part, per channel.
void round_rows(const GramMatrix& gram, const std::vector<float>& weights, const std::vector<double>& shifts,
                bool free_bias, double hold_share, Scheme scheme, DType type,
                const std::function<bool(std::size_t, double)>& fits, Layer& layer) {
  const std::size_t row = gram.shape().row, channels = gram.shape().channels,
                    per_group = channels / gram.shape().groups, entries = layer.steps.size();
  const double low = kernels::lowest(type), high = kernels::highest(type);
  // The finest grid that holds every weight, and the one below, which clips the largest.
  const std::vector<double> shares =
      scheme == Scheme::pow2 ? std::vector<double>{1, 0.5} : std::vector<double>{1, 0.9, 0.8};
  std::vector<std::vector<double>> errors(shares.size(), std::vector<double>(entries, 0));
  std::vector<std::vector<std::int32_t>> integers(shares.size(), std::vector<std::int32_t>(weights.size()));
  for (std::size_t g = 0; g < gram.shape().groups; ++g) {
    const double hold = hold_of(gram, g, hold_share);
    const Quadratic quadratic(quadratic_of(gram, g, free_bias, hold), row);
    for (std::size_t first = g * per_group; first < (g + 1) * per_group; first += kLanes) {
      const std::size_t lanes = std::min(kLanes, (g + 1) * per_group - first);
      std::vector<std::vector<double>> c(lanes, std::vector<double>(row));
      std::vector<Lanes> best(row);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t n = first + lane;
        for (std::size_t i = 0; i < row; ++i)
          best[i][lane] = c[lane][i] = gram.cross(n)[i] - shifts[n] * gram.sums(g)[i] +
                                       hold * static_cast<double>(weights[n * row + i]);
      }
      quadratic.solve(best);
      for (std::size_t s = 0; s < shares.size(); ++s) {
        Lanes steps;
        steps.fill(1);
        for (std::size_t lane = 0; lane < lanes; ++lane)
          steps[lane] = layer.steps[entries == 1 ? 0 : first + lane] * shares[s];
        const std::vector<Lanes> rounded = quadratic.round_in_order(best, steps, low, high);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::size_t n = first + lane;
          std::vector<std::int32_t> found(row);
          for (std::size_t i = 0; i < row; ++i) found[i] = static_cast<std::int32_t>(rounded[i][lane]);
          quadratic.improve(c[lane], steps[lane], low, high, found);
          errors[s][entries == 1 ? 0 : n] += quadratic.error(found, c[lane], steps[lane]);
          std::copy(found.begin(), found.end(), integers[s].begin() + static_cast<std::ptrdiff_t>(n * row));
        }
      }
    }
  }
  for (std::size_t e = 0; e < entries; ++e) {
    std::size_t chosen = 0;
    for (std::size_t s = 1; s < shares.size(); ++s) {
      if (fits(e, layer.steps[e] * shares[s]) && errors[s][e] < errors[chosen][e]) chosen = s;
    }
    layer.steps[e] *= shares[chosen];
    if (scheme == Scheme::affine) layer.steps[e] = static_cast<double>(static_cast<float>(layer.steps[e]));
    if (!layer.exponents.empty() && chosen > 0) --layer.exponents[e];
    const std::size_t first = entries == 1 ? 0 : e * row, last = entries == 1 ? weights.size() : first + row;
    std::copy(integers[chosen].begin() + static_cast<std::ptrdiff_t>(first),
              integers[chosen].begin() + static_cast<std::ptrdiff_t>(last),
              layer.integers.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

}  // namespace

Layer fit_matrix(const Tensor& weights, DType type, const GramMatrix& gram, double hold) {
  const std::vector<float> values = floats_of(weights);
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  Layer layer;
  layer.exponents = {grid_of({-largest, largest}, type, Scheme::pow2).exponent};
  layer.steps = {std::ldexp(1.0, layer.exponents[0])};
  layer.integers.resize(values.size());
  round_rows(
      gram, values, std::vector<double>(gram.shape().channels, 0.0), false, hold, Scheme::pow2, type,
      [](std::size_t, double) { return true; }, layer);
  return layer;
}

Layer fit_layer(const Graph& graph, const Node& node, const Plan& plan, const GramMatrix& gram,
                const Methods& methods) {
  const bool rounds = methods.round, corrects = methods.correct_bias;
  const Grid x = plan.grid(
      node.inputs[0],
      gram.shape().row == 0 ? DType::int8 : plan.types[static_cast<std::size_t>(&node - graph.nodes.data())]);
  Layer layer = nearest_layer(graph, node, plan, x);
  const std::vector<float> weights = floats_of(graph.tensors[static_cast<std::size_t>(node.inputs[1])]);
  const std::size_t row = gram.shape().row, channels = gram.shape().channels,
                    per_group = channels / gram.shape().groups;
  const bool had_bias = !layer.bias.empty();
  if (!had_bias) layer.bias.assign(channels, 0.0);
  if (rounds) {
    const std::size_t entries = layer.steps.size();
    const int bits = x.dtype == DType::int8 ? plan.target.bias_bits_int8 : plan.target.bias_bits_int16;
    // A finer grid needs room for the bias, with some to spare for its correction.
    const auto fits = [&](std::size_t e, double step) {
      bool all = true;
      for (std::size_t n = entries == 1 ? 0 : e; n < (entries == 1 ? channels : e + 1); ++n) {
        all = all && 1.5 * std::abs(layer.bias[n]) < std::ldexp(step * x.step, std::min(bits, 62) - 1);
      }
      return all;
    };
    std::vector<double> shifts = layer.bias;
    for (std::size_t n = 0; n < channels && corrects; ++n) shifts[n] = gram.result_sum(n) / gram.count();
    round_rows(gram, weights, shifts, corrects, methods.hold, plan.scheme, plan.target.weight_type(x.dtype),
               fits, layer);
  }
  if (corrects) {
    for (std::size_t n = 0; n < channels; ++n) {
      const double step = layer.steps[layer.steps.size() == 1 ? 0 : n];
      double mean = gram.result_sum(n);
      for (std::size_t i = 0; i < row; ++i)
        mean -= layer.integers[n * row + i] * step * gram.sums(n / per_group)[i];
      layer.bias[n] = mean / gram.count();
    }
  } else if (!had_bias) {
    layer.bias.clear();
  }
  return layer;
}

}  // namespace runnel::compiler::quantizer
