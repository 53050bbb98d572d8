#include "compiler/quantize/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "compiler/quantize/calibrate/extract_subgraph.h"
#include "kernels/elementwise/affine.h"

namespace runnel::compiler::quantizer {
namespace {

struct Ends {
  float low = 0, high = 0;
};

Ends ends_of(const Tensor& tensor) {
  if (tensor.dtype != DType::int8 && tensor.dtype != DType::int16) return {-HUGE_VALF, HUGE_VALF};
  const float scale = tensor.scales.empty() ? kernels::power_of_two(tensor.exponents[0]) : tensor.scales[0];
  const std::int32_t zero = tensor.zero_points.empty() ? 0 : tensor.zero_points[0];
  return {static_cast<float>(kernels::lowest(tensor.dtype) - zero) * scale,
          static_cast<float>(kernels::highest(tensor.dtype) - zero) * scale};
}

std::string decibels(double ratio) {
  char text[32];
  if (!(ratio > 0)) return "exact";
  std::snprintf(text, sizeof text, "%.1f", -10 * std::log10(ratio));
  return text;
}

}  // namespace

Result<Report> report_on(const Quantized& quantized, const Clips& clips, std::span<const std::size_t> which,
                         const Options& options) {
  Report report;
  report.clips = which.size();
  std::vector<std::size_t> nodes;
  std::vector<TensorId> ids;
  for (std::size_t n = 0; n < quantized.real.nodes.size(); ++n) {
    const Node& node = quantized.real.nodes[n];
    if (quantized.plan.roles[n] == Role::passive || node.outputs.empty() ||
        quantized.real.tensors[static_cast<std::size_t>(node.outputs[0])].dtype != DType::float32)
      continue;
    nodes.push_back(n);
    ids.push_back(node.outputs[0]);
  }
  const Graph real = extract_subgraph(quantized.real, ids), integer = extract_subgraph(quantized.graph, ids);
  const Graph* const forms[] = {&real, &integer};
  RUNNEL_ASSIGN(const ClipRunner runner, ClipRunner::make(forms, options.threads));
  std::vector<Ends> ends;
  for (const TensorId id : ids)
    ends.push_back(ends_of(quantized.graph.tensors[static_cast<std::size_t>(id)]));
  std::array<std::vector<QuantizationNoise>, ClipRunner::kSlices> slices;
  slices.fill(std::vector<QuantizationNoise>(ids.size()));
  RUNNEL_TRY(
      runner.run(clips, which, [&](std::size_t, std::size_t slice, const ClipRunner::Outputs& outputs) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          QuantizationNoise noise = quantization_noise(outputs[0][i], outputs[1][i]);
          for (std::size_t k = 0; k < outputs[1][i].size(); ++k) {
            const float value = outputs[1][i][k], expected = outputs[0][i][k];
            // An end that the float value does not lie beyond was reached by rounding.
            if ((value <= ends[i].low && expected < ends[i].low) ||
                (value >= ends[i].high && expected > ends[i].high))
              ++noise.saturated;
          }
          slices[slice][i].add(noise);
        }
      }));
  RUNNEL_ASSIGN(const ReferenceOutputs reference,
                ReferenceOutputs::make(quantized.real, clips,
                                       which.first(std::min(which.size(), kAloneClips)), options.threads));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    QuantizationNoise noise;
    for (const auto& slice : slices) noise.add(slice[i]);
    const Node& node = quantized.real.nodes[nodes[i]];
    OperatorReport entry;
    entry.name = node.name;
    entry.code = name_of(node.code);
    entry.type = quantized.plan.types[nodes[i]];
    entry.accumulated = noise.ratio();
    entry.saturated =
        static_cast<double>(noise.saturated) / static_cast<double>(std::max<std::uint64_t>(noise.values, 1));
    entry.products = products_of(quantized.real, node);
    if (entry.type != DType::float32) {
      if (options.progress)
        options.progress("report", static_cast<double>(i) / static_cast<double>(ids.size()));
      RUNNEL_ASSIGN(entry.alone, sensitivity(quantized, nodes[i], reference));
    }
    report.operators.push_back(std::move(entry));
  }
  RUNNEL_ASSIGN(const std::vector<QuantizationNoise> outputs,
                compare_forms(quantized.real, quantized.graph, clips, which, options.threads));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    report.outputs.push_back(
        {quantized.real.tensors[static_cast<std::size_t>(quantized.real.outputs[o])].name, outputs[o].ratio(),
         outputs[o].largest});
  }
  return report;
}

std::string make_function_table(const Report& report) {
  std::vector<OperatorReport> sorted = report.operators;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OperatorReport& a, const OperatorReport& b) { return a.alone > b.alone; });
  std::string text =
      "signal to noise in dB: of the outputs with this operator alone quantized, and of its own result with "
      "all of them\n";
  char line[256];
  std::snprintf(line, sizeof line, "%-40s %-16s %-8s %8s %12s %10s\n", "operator", "kind", "type", "alone",
                "accumulated", "saturated");
  text += line;
  for (const OperatorReport& entry : sorted) {
    const std::string alone = entry.type == DType::float32 ? "float" : decibels(entry.alone);
    std::snprintf(line, sizeof line, "%-40s %-16s %-8s %8s %12s %9.4f%%\n", entry.name.substr(0, 40).c_str(),
                  entry.code.substr(0, 16).c_str(), std::string(runnel::name_of(entry.type)).c_str(),
                  alone.c_str(), decibels(entry.accumulated).c_str(), 100 * entry.saturated);
    text += line;
  }
  for (const OutputReport& output : report.outputs) {
    std::snprintf(line, sizeof line,
                  "output %s: %s dB, noise to signal %.3g, largest difference %.3g, over %zu clips\n",
                  output.name.substr(0, 80).c_str(), decibels(output.ratio).c_str(), output.ratio,
                  output.largest, report.clips);
    text += line;
  }
  return text;
}

}  // namespace runnel::compiler::quantizer
