#include "compiler/quantize/train/train_blocks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "base/host/joined_thread.h"
#include "compiler/quantize/calibrate/clip_runner.h"
#include "compiler/quantize/calibrate/extract_subgraph.h"
#include "compiler/quantize/choose/search_ranges.h"
#include "compiler/quantize/integer_graph.h"
#include "compiler/quantize/train/block_net.h"
#include "compiler/quantize/train/random.h"

namespace runnel::compiler::quantizer {
namespace {

constexpr int kLooks = 12;         // how often the training is looked at
constexpr std::size_t kBatch = 8;  // clips for a step
constexpr std::size_t kSlices = ClipRunner::kSlices;
constexpr std::size_t kMaxValues = std::size_t{16} << 20;  // inputs and results of a block that are kept

struct Example {
  std::vector<float> x, wanted;
};

Result<std::vector<Example>> examples_of(const Graph& graph, const Plan& plan, const Block& block,
                                         const Clips& clips, std::span<const std::size_t> which,
                                         const Options& options) {
  const auto elements = [&](TensorId id) {
    std::size_t count = 1;
    for (const std::int32_t dim : graph.tensors[static_cast<std::size_t>(id)].shape)
      count *= static_cast<std::size_t>(dim);
    return count;
  };
  std::size_t values = elements(block.input);
  for (const TensorId id : block.outputs) values += elements(id);
  std::vector<std::size_t> taken;
  const std::size_t most = std::max<std::size_t>(5, kMaxValues / std::max<std::size_t>(values, 1));
  for (std::size_t i = 0; i < std::min(which.size(), most); ++i)
    taken.push_back(which[i * which.size() / std::min(which.size(), most)]);
  const TensorId inputs[] = {block.input};
  RUNNEL_ASSIGN(const Graph whole, emit_integer_graph(graph, plan));
  const Graph real = extract_subgraph(graph, block.outputs), integer = extract_subgraph(whole, inputs);
  const Graph* const forms[] = {&real, &integer};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options.threads));
  std::map<std::size_t, std::size_t> place;
  for (std::size_t i = 0; i < taken.size(); ++i) place[taken[i]] = i;
  std::vector<Example> examples(taken.size());
  RUNNEL_TRY(runner.run(clips, taken, [&](std::size_t clip, std::size_t, const ClipRunner::Outputs& outputs) {
    Example& example = examples[place.at(clip)];
    example.x.assign(outputs[1][0].begin(), outputs[1][0].end());
    for (const auto& output : outputs[0])
      example.wanted.insert(example.wanted.end(), output.begin(), output.end());
  }));
  return examples;
}

// Examples that some net is shown, slice by slice, so that sums do not depend on the number of threads.
class Teacher {
 public:
  Teacher(const BlockNet& net, const std::vector<Example>& examples, int threads)
      : net_(net), examples_(examples), threads_(std::clamp(threads, 1, static_cast<int>(kSlices))) {}

  // Loss over some examples; `gradient`: of the parameters, or none.
  double show(std::span<const float> parameters, std::span<const std::size_t> which,
              std::vector<float>* gradient) {
    const BlockNet::Ready ready = net_.ready(parameters);
    std::array<double, kSlices> losses = {};
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t slice = next++; slice < kSlices; slice = next++) {
        std::vector<float>* const own = gradient != nullptr ? &gradients_[slice] : nullptr;
        if (own != nullptr) own->assign(parameters.size(), 0.0f);
        for (std::size_t i = slice; i < which.size(); i += kSlices) {
          const Example& example = examples_[which[i]];
          losses[slice] += net_.run(ready, parameters, example.x, example.wanted, work_[slice], own);
        }
      }
    };
    {
      std::vector<JoinedThread> helpers;
      for (int i = 1; i < threads_; ++i) helpers.emplace_back(work);
      work();
    }
    double loss = 0;
    for (const double one : losses) loss += one;
    if (gradient == nullptr) return loss;
    gradient->assign(parameters.size(), 0.0f);
    for (const auto& one : gradients_) {
      for (std::size_t i = 0; i < one.size(); ++i) (*gradient)[i] += one[i];
    }
    double values = 0;
    for (const std::size_t i : which) values += static_cast<double>(examples_[i].wanted.size());
    loss += net_.restrain(ready, parameters, values, gradient);
    net_.pass_rounding(ready, parameters, *gradient);
    return loss;
  }

 private:
  const BlockNet& net_;
  const std::vector<Example>& examples_;
  int threads_;
  std::array<BlockNet::Work, kSlices> work_;
  std::array<std::vector<float>, kSlices> gradients_;
};

// Adam (Kingma and Ba, 2015) with a rate that falls to zero as a cosine.
class Adam {
 public:
  explicit Adam(std::vector<float> rates)
      : rates_(std::move(rates)), mean_(rates_.size(), 0.0f), square_(rates_.size(), 0.0f) {}
  void step(const std::vector<float>& gradient, double share, std::vector<float>& parameters) {
    constexpr float kMean = 0.9f, kSquare = 0.999f;
    ++count_;
    const auto rate = static_cast<float>(0.5 * (1 + std::cos(std::numbers::pi * share)));
    const auto mean_left = static_cast<float>(1 - std::pow(0.9, count_)),
               square_left = static_cast<float>(1 - std::pow(0.999, count_));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      mean_[i] = kMean * mean_[i] + (1 - kMean) * gradient[i];
      square_[i] = kSquare * square_[i] + (1 - kSquare) * gradient[i] * gradient[i];
      parameters[i] -=
          rate * rates_[i] * (mean_[i] / mean_left) / (std::sqrt(square_[i] / square_left) + 1e-20f);
    }
  }

 private:
  std::vector<float> rates_, mean_, square_;
  int count_ = 0;
};

// The parameters that did best on the examples held back.
std::vector<float> trained(const BlockNet& net, const std::vector<Example>& examples, const Options& options,
                           const std::function<void(double)>& told) {
  std::vector<std::size_t> fit, held;
  for (std::size_t i = 0; i < examples.size(); ++i) (i % 5 == 4 ? held : fit).push_back(i);
  if (held.empty()) held = fit;
  Teacher teacher(net, examples, options.threads);
  std::vector<float> parameters = net.parameters(), best = parameters, gradient;
  double least = teacher.show(parameters, held, nullptr);
  Adam adam(net.rates());
  Random random(options.seed);
  std::vector<std::size_t> order;
  const int steps = options.training.steps, every = std::max(1, steps / kLooks);
  for (int step = 0; step < steps; ++step) {
    std::vector<std::size_t> batch;
    while (batch.size() < std::min(kBatch, fit.size())) {
      if (order.empty()) {
        order = fit;
        for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(i + 1)]);
      }
      batch.push_back(order.back());
      order.pop_back();
    }
    teacher.show(parameters, batch, &gradient);
    adam.step(gradient, static_cast<double>(step) / steps, parameters);
    if ((step + 1) % every != 0 && step + 1 != steps) continue;
    told(static_cast<double>(step + 1) / steps);
    const double error = teacher.show(parameters, held, nullptr);
    if (error >= least) continue;
    least = error;
    best = parameters;
  }
  return best;
}

// Whether a block has one of these layers; every block has, if none is named.
bool is_of_interest(const Graph& graph, const Block& block, const std::vector<std::string>& names) {
  bool found = names.empty();
  for (std::size_t n = block.first; n < block.end; ++n)
    found = found || std::find(names.begin(), names.end(), graph.nodes[n].name) != names.end();
  return found;
}

}  // namespace

Status train_blocks(const Graph& graph, const Clips& clips, std::span<const std::size_t> which,
                    const ReferenceOutputs& reference, const Methods& methods, const Options& options,
                    Plan& plan) {
  const std::vector<Block> blocks = blocks_of(graph, plan, options.training.block_size);
  RUNNEL_ASSIGN(const Graph before, emit_integer_graph(graph, plan));
  RUNNEL_ASSIGN(double best, reference.error(before));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto told = [&](double share) {
      if (options.progress)
        options.progress("training", (static_cast<double>(b) + share) / static_cast<double>(blocks.size()));
    };
    told(0);
    if (!is_of_interest(graph, blocks[b], options.training.interested_layers)) continue;
    RUNNEL_ASSIGN(const std::vector<Example> examples,
                  examples_of(graph, plan, blocks[b], clips, which, options));
    const Plan start = plan;  // the net reads it
    const BlockNet net(graph, start, blocks[b], methods.tqt, options.training);
    Plan candidate = plan;
    net.store(trained(net, examples, options, told), candidate);
    avoid_left_shifts(graph, candidate);
    const auto form = emit_integer_graph(graph, candidate);
    if (!form.ok() && form.status().code() == Code::unsupported)
      continue;  // what cannot be represented is no candidate
    if (!form.ok()) return form.status();
    RUNNEL_ASSIGN(const double error, reference.error(*form));
    if (error >= best) continue;
    best = error;
    plan = std::move(candidate);
  }
  return {};
}

}  // namespace runnel::compiler::quantizer
