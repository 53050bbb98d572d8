#include "bench/models_page.h"

#include <fmt/format.h>

#include <cmath>

namespace runnel::bench {
namespace {

double gmacs(const ModelRow& row) {
  return row.ours.median > 0 ? static_cast<double>(row.macs) / row.ours.median / 1e3 : 0;
}
bool compared(const ModelRow& row) { return row.peer.min > 0; }

// Rows of a pair that run the same way.
struct ComparedPair {
  const ModelRow *floats, *integers;
};
std::vector<ComparedPair> compared_pairs(const ModelsPage& page) {
  std::vector<ComparedPair> out;
  for (const NumbersPair& pair : page.pairs) {
    for (const ModelRow& a : page.rows) {
      for (const ModelRow& b : page.rows) {
        if (a.model == pair.floats && b.model == pair.integers && a.mode == b.mode) out.push_back({&a, &b});
      }
    }
  }
  return out;
}

const char* class_of(Isa isa) {
  switch (isa) {
    case Isa::amx:
      return "AVX-512 with AMX";
    case Isa::avx512vnni:
      return "AVX-512 with VNNI, without AMX";
    case Isa::avx512:
      return "AVX-512 without VNNI";
    case Isa::avx2:
      return "AVX2";
    default:
      return "no vectors of its own";
  }
}

std::string pairs_text(const ModelsPage& page) {
  const std::vector<ComparedPair> pairs = compared_pairs(page);
  if (pairs.empty()) return "";
  std::string out =
      "\n## The same network in float32 and in integers\n\n*float32 / integers*: above 1 the integers are "
      "faster.\n\n| float32 | integers | run | float32, us | integers, us | float32 / integers | of least "
      "|\n|---|---|---|---:|---:|---:|---:|\n";
  for (const ComparedPair& pair : pairs)
    out += fmt::format("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", pair.floats->model,
                       pair.integers->model, pair.floats->mode, pair.floats->ours.median,
                       pair.integers->ours.median, pair.floats->ours.median / pair.integers->ours.median,
                       pair.floats->ours.min / pair.integers->ours.min);
  return out;
}

std::string slow_layers_text(const ModelsPage& page) {
  std::string out = "\n## Slow layers\n\n";
  bool any = false;
  for (const ModelRow& row : page.rows) {
    for (const std::string& text : row.slow) {
      out += fmt::format("* {}, {}: {}\n", row.model, row.mode, text);
      any = true;
    }
  }
  if (!any)
    out += "No layer takes more than 20 % of a model's time at less than 10 % of what the machine allows.\n";
  return out;
}

}  // namespace

std::string row_text(const ModelRow& row) {
  return fmt::format(
      "{:<48} {:<10} {:>10.2f} us {:>6.1f} GMAC/s {}  {:.0f} % in {} ({}, {:.0f} % of the peak)", row.model,
      row.mode, row.ours.median, gmacs(row),
      compared(row)
          ? fmt::format("{:.2f} / {:.2f} x", row.peer.median / row.ours.median, row.peer.min / row.ours.min)
          : "",
      100 * row.layer_share, row.layer, row.kernel, 100 * row.layer_peak_share);
}

std::string markdown_of(const ModelsPage& page) {
  std::string out = fmt::format(
      "# Speed of real models\n\n"
      "Written by `bench/models_bench` in one run, one thread; do not edit. To measure again:\n\n"
      "    RUNNEL_BENCH_ORT=libonnxruntime.so.1 taskset -c 1 build/bench/models_bench --page FOLDER > "
      "docs/speed-models.md\n\n"
      "Class of machine: {} (kernels up to {}). Its limits, measured in the same run: {:.0f} GMAC/s of int8 "
      "in vectors, "
      "{:.0f} of float32, {:.0f} GB/s read from the second-level cache.\n"
      "Times are of the thread's processor, in microseconds; both programs take turns. *whole*: the input of "
      "the file at once; *stream N*: N source frames a call.\n"
      "*ONNX Runtime / runnel*: above 1 runnel is faster. *of the limit*: the least time that the machine "
      "allows for the layer's multiply-adds or bytes, over the time it took.\n\n",
      class_of(best_isa()), name_of(best_isa()), page.peak.int8_gmacs, page.peak.float_gmacs,
      page.peak.read_gigabytes);
  for (const bool floats : {true, false}) {
    out += floats ? "## float32\n\n" : "\n## Integers\n\n";
    out += floats
               ? "| model | run | us | least | million MACs | GMAC/s | ONNX Runtime / runnel | of least | "
                 "slowest layer | its share | kernel | of the limit |\n"
                 "|---|---|---:|---:|---:|---:|---:|---:|---|---:|---|---:|\n"
               : "| model | run | us | least | million MACs | GMAC/s | slowest layer | its share | kernel | "
                 "of the limit |\n|---|---|---:|---:|---:|---:|---|---:|---|---:|\n";
    double logs = 0;
    int count = 0;
    for (const ModelRow& row : page.rows) {
      if (row.floats != floats) continue;
      out += fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.3f} | {:.1f} |", row.model, row.mode,
                         row.ours.median, row.ours.min, static_cast<double>(row.macs) / 1e6, gmacs(row));
      if (floats && compared(row)) {
        out +=
            fmt::format(" {:.2f} | {:.2f} |", row.peer.median / row.ours.median, row.peer.min / row.ours.min);
        logs += std::log(row.peer.median / row.ours.median);
        ++count;
      } else if (floats) {
        out += " | |";
      }
      out += fmt::format(" {} | {:.0f} % | {} | {:.0f} % |\n", row.layer, 100 * row.layer_share, row.kernel,
                         100 * row.layer_peak_share);
    }
    if (count > 0)
      out += fmt::format("\nGeometric mean of the {} ratios of medians: {:.2f}.\n", count,
                         std::exp(logs / count));
  }
  out += pairs_text(page);
  out += slow_layers_text(page);
  if (!page.refused.empty()) {
    out += "\n## Not run\n\n";
    for (const auto& [file, why] : page.refused) out += fmt::format("* {}: {}\n", file, why);
  }
  return out;
}

nlohmann::ordered_json json_of(const ModelsPage& page) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ModelRow& row : page.rows) {
    rows.push_back({{"model", row.model},
                    {"mode", row.mode},
                    {"floats", row.floats},
                    {"macs", row.macs},
                    {"us", {{"median", row.ours.median}, {"min", row.ours.min}}},
                    {"slowest",
                     {{"layer", row.layer},
                      {"kernel", row.kernel},
                      {"share", row.layer_share},
                      {"gmacs_per_second", row.layer_gmacs},
                      {"peak_share", row.layer_peak_share}}},
                    {"slow", row.slow}});
    if (compared(row)) {
      rows.back()["onnxruntime_us"] = {{"median", row.peer.median}, {"min", row.peer.min}};
      rows.back()["difference"] = row.difference;
    } else if (!row.peer_refused.empty()) {
      rows.back()["onnxruntime_refused"] = row.peer_refused;
    }
  }
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  for (const ComparedPair& pair : compared_pairs(page)) {
    pairs.push_back({{"floats", pair.floats->model},
                     {"integers", pair.integers->model},
                     {"mode", pair.floats->mode},
                     {"ratio", pair.floats->ours.median / pair.integers->ours.median},
                     {"ratio_of_least", pair.floats->ours.min / pair.integers->ours.min}});
  }
  nlohmann::ordered_json refused = nlohmann::ordered_json::array();
  for (const auto& [file, why] : page.refused) refused.push_back({{"file", file}, {"reason", why}});
  return {{"type", "models"},
          {"isa", name_of(best_isa())},
          {"peak",
           {{"int8_gmacs", page.peak.int8_gmacs},
            {"float_gmacs", page.peak.float_gmacs},
            {"read_gigabytes", page.peak.read_gigabytes}}},
          {"models", rows},
          {"pairs", pairs},
          {"refused", refused}};
}

}  // namespace runnel::bench
