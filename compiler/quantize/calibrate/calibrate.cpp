#include "compiler/quantize/calibrate/calibrate.h"

#include <algorithm>
#include <array>

#include "compiler/quantize/calibrate/clip_runner.h"
#include "compiler/quantize/calibrate/extract_subgraph.h"
#include "compiler/quantize/calibrate/value_counts.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

// Tensors whose values are looked at: of a group that only moves values, the first one.
std::vector<TensorId> observed(const Graph& graph, const Plan& plan) {
  std::vector<TensorId> ids;
  for (const TensorId id : graph.inputs) {
    if (graph.tensors[static_cast<std::size_t>(id)].dtype == DType::float32) ids.push_back(id);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].outputs) {
      const bool moved = plan.roles[n] == Role::passive && plan.groups[static_cast<std::size_t>(id)] != id;
      if (graph.tensors[static_cast<std::size_t>(id)].dtype == DType::float32 && !moved) ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace

Result<std::vector<Histogram>> observe(const Graph& graph, const Plan& plan, const Clips& clips,
                                       std::span<const std::size_t> which, const Options& options) {
  const std::vector<TensorId> ids = observed(graph, plan);
  const Graph form = extract_subgraph(graph, ids);
  const Graph* const forms[] = {&form};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options.threads));
  constexpr std::size_t kSlices = ClipRunner::kSlices;
  const auto group_of = [&](std::size_t i) {
    return static_cast<std::size_t>(plan.groups[static_cast<std::size_t>(ids[i])]);
  };
  const auto told = [&](std::size_t clip, double from, double share) {
    if (options.progress)
      options.progress("ranges",
                       from + share * static_cast<double>(clip) / static_cast<double>(which.size()));
  };

  std::array<std::vector<Range>, kSlices> ranges;
  std::array<std::vector<bool>, kSlices> broken;
  ranges.fill(std::vector<Range>(graph.tensors.size()));
  broken.fill(std::vector<bool>(ids.size(), false));
  RUNNEL_TRY(
      runner.run(clips, which, [&](std::size_t clip, std::size_t slice, const ClipRunner::Outputs& outputs) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const Extremes found = extremes_of(outputs[0][i]);
          Range& range = ranges[slice][group_of(i)];
          range.low = std::min(range.low, static_cast<double>(found.low));
          range.high = std::max(range.high, static_cast<double>(found.high));
          if (!found.finite) broken[slice][i] = true;
        }
        if (slice == 0) told(clip, 0, 0.5);
      }));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (const auto& slice : broken) {
      if (slice[i])
        return Status(Code::invalid_data)
               << "tensor \"" << graph.tensors[static_cast<std::size_t>(ids[i])].name
               << "\" becomes infinite or no number on the calibration data";
    }
  }

  std::vector<Histogram> histograms(graph.tensors.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Histogram& histogram = histograms[group_of(i)];
    for (const auto& slice : ranges) {
      histogram.range.low = std::min(histogram.range.low, slice[group_of(i)].low);
      histogram.range.high = std::max(histogram.range.high, slice[group_of(i)].high);
    }
    histogram.bins.assign(Histogram::kBins, 0);
  }
  std::array<std::vector<std::vector<std::uint64_t>>, kSlices> bins;
  bins.fill(
      std::vector<std::vector<std::uint64_t>>(ids.size(), std::vector<std::uint64_t>(Histogram::kBins, 0)));
  RUNNEL_TRY(
      runner.run(clips, which, [&](std::size_t clip, std::size_t slice, const ClipRunner::Outputs& outputs) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const Range& range = histograms[group_of(i)].range;
          const double width = range.high - range.low, per_bin = width > 0 ? Histogram::kBins / width : 0;
          count_values(outputs[0][i], range.low, per_bin, bins[slice][i]);
        }
        if (slice == 0) told(clip, 0.5, 0.5);
      }));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Histogram& histogram = histograms[group_of(i)];
    for (const auto& slice : bins) {
      for (std::size_t b = 0; b < Histogram::kBins; ++b) {
        histogram.bins[b] += slice[i][b];
        histogram.count += slice[i][b];
      }
    }
  }
  return histograms;
}

void set_ranges(const Graph& graph, const std::vector<Histogram>& histograms, Calibration calibration,
                std::span<const DType> types, Plan& plan) {
  // A float result that is read as int16 has a range for that: one chosen for the grids of int8 would cut it.
  std::vector<bool> wide(plan.groups.size(), false);
  const auto assign_mixed_precision = [&](TensorId id) {
    wide[static_cast<std::size_t>(plan.groups[static_cast<std::size_t>(id)])] = true;
  };
  for (std::size_t id = 0; id < types.size(); ++id) {
    if (types[id] == DType::int16) assign_mixed_precision(static_cast<TensorId>(id));
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id >= 0 && plan.types[n] == DType::int16 && types[static_cast<std::size_t>(id)] == DType::float32)
        assign_mixed_precision(id);
    }
  }
  for (std::size_t id = 0; id < histograms.size(); ++id) {
    if (histograms[id].count == 0) continue;
    plan.ranges[id] =
        range_of(histograms[id], calibration, wide[id] ? DType::int16 : DType::int8, plan.scheme);
  }
  for (const TensorId id : graph.outputs) {
    const auto group = static_cast<std::size_t>(plan.groups[static_cast<std::size_t>(id)]);
    if (histograms[group].count > 0)
      plan.ranges[group] = range_of(histograms[group], Calibration::min_max,
                                    wide[group] ? DType::int16 : DType::int8, plan.scheme);
  }
  for (const auto& [group, exponent] : plan.stated) {
    const auto at = static_cast<std::size_t>(group);
    plan.ranges[at] = range_of_exponent(exponent, wide[at] ? DType::int16 : DType::int8);
  }
}

}  // namespace runnel::compiler::quantizer
