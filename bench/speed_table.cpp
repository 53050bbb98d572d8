// Writes docs/speed.md, docs/speed-avx512.md or docs/speed-avx2.md from the results of inference_bench,
// threads_bench and float_bench:
//   speed_table speed.json [threads.json] [floats.json] > docs/speed.md
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using Json = nlohmann::ordered_json;

void print_cases(const Json& cases) {
  fmt::print("| case | engine | median, us | least, us | GMAC/s at the least |\n|---|---|---:|---:|---:|\n");
  for (const auto& [name, value] : cases.items()) {
    const std::size_t slash = name.find('/');
    const std::string rate =
        value.contains("gmacs") ? fmt::format("{:.1f}", value["gmacs"].get<double>()) : "";
    fmt::print("| {} | {} | {:.3f} | {:.3f} | {} |\n", name.substr(0, slash), name.substr(slash + 1),
               value["median_us"].get<double>(), value["min_us"].get<double>(), rate);
  }
}

void print_ratios(const Json& ratios) {
  fmt::print("| ratio | of medians | of least | goal | reached |\n|---|---:|---:|---:|---|\n");
  const auto word = [](bool median, bool least) {
    return median && least ? "yes" : median ? "in the median only" : least ? "in the least only" : "no";
  };
  for (const auto& [name, value] : ratios.items()) {
    const double median = value["median"].get<double>(), least = value["min"].get<double>();
    std::string goal, reached;
    if (value.contains("at_least")) {
      goal = fmt::format("at least {:g}", value["at_least"].get<double>());
      const double limit = value["at_least"].get<double>();
      reached = word(median >= limit, least >= limit);
    } else if (value.contains("at_most")) {
      goal = fmt::format("at most {:g}", value["at_most"].get<double>());
      const double limit = value["at_most"].get<double>();
      reached = word(median <= limit, least <= limit);
    }
    fmt::print("| {} | {:.2f} | {:.2f} | {} | {} |\n", name, median, least, goal, reached);
  }
}

void print_page(const Json& speed) {
  const Json& machine = speed.at("machine");
  std::string extensions;
  for (const auto& word : machine.at("vector_extensions"))
    extensions += (extensions.empty() ? "" : " ") + word.get<std::string>();
  fmt::print(
      "# Speed of inference\n\n"
      "One thread, one core, unless said otherwise. Written by `bench/speed_table` from one run of "
      "`bench/inference_bench`; do not edit. To measure again:\n\n"
      "    scripts/speed.sh\n\n"
      "[speed.md](speed.md) is of a machine with AVX-512 and AMX, [speed-avx512.md](speed-avx512.md) of one "
      "with AVX-512 and VNNI without AMX,\n[speed-avx2.md](speed-avx2.md) of one with AVX2 alone "
      "(`RUNNEL_SPEED_PAGE=docs/speed-avx2.md`). Real models: [speed-models.md](speed-models.md).\n\n"
      "All cases of the table were run in turn, {} times, in one program: load on the machine slows all "
      "cases alike, so that the ratios\nare more reliable than the microseconds. Before anything is timed "
      "the streamed outputs are compared "
      "with the whole clip's and these\n"
      "with the plain reference loops (equal, bit for bit), and XNNPACK's with ours (equal up to its "
      "rounding of ties).\n\n"
      "| | |\n|---|---|\n| processor | {} |\n| vector extensions | {} |\n| kernels in use | {} |\n| load of "
      "the machine | {:.1f} runnable threads on {} cores |\n\n"
      "Medians are the times under that load; the least times are closer to those of an idle machine. A goal "
      "counts as\n"
      "reached when both ratios reach it.\n\n",
      speed.at("rounds").get<int>(), machine.at("cpu").get<std::string>(), extensions,
      machine.at("isa").get<std::string>(), machine.at("load").get<double>(), machine.at("cores").get<int>());
  fmt::print(
      "**M1** is a streaming keyword network: 40 features per frame, a stem of 5 frames, six residual blocks "
      "(depthwise 9 taps, pointwise\n"
      "64 x 64, sum, ReLU), a pointwise head: 44,928 multiply-adds per frame. **M2** is the "
      "depthwise-separable network of MLPerf Tiny:\n"
      "49 x 10 features, 2.66 million multiply-adds. int8 with power-of-two scales, random weights from a "
      "fixed seed (`bench/networks.h`).\n"
      "*stream N*: N frames per call, state kept; *whole*: one second at once. XNNPACK's operators are "
      "created once and called in\n"
      "sequence, its state moved by memmove. ONNX Runtime's models pool over time and end in a dense layer "
      "as well, and get their state\n"
      "as tensors from outside. *kernels alone*: runnel's own kernels of one step, called back to back on "
      "fixed buffers. *in registers*:\n"
      "as many multiply-adds of the vector unit without any data, and *in tiles* (AMX), where multiply-adds "
      "are no longer the bottleneck.\n\n");
  print_cases(speed.at("cases"));
  fmt::print("\n## Ratios\n\n");
  print_ratios(speed.at("ratios"));
  const Json& call = speed.at("call_overhead_us");
  fmt::print(
      "\nA call on a model of one layer costs {:.3f} us more than its kernel (median; least {:.3f}; goal: at "
      "most {:g}).\n",
      call["median"].get<double>(), call["min"].get<double>(), call["at_most"].get<double>());
  if (speed.contains("digits")) {
    const Json& digits = speed["digits"];
    const Json& real_time = digits["times_real_time"];
    fmt::print(
        "\n## The digits graph\n\n16 kHz samples in memory, 40-bin log-mel features, the network in blocks "
        "of 32 "
        "frames, as recordings are read, decisions: "
        "{:.0f} times real time (processor time) in the median, {:.0f} at best "
        "(goal: at least {:g}), which is {:.2f} us per frame of 10 ms; the front end takes {:.0f} % of the "
        "fastest runs.\n",
        real_time["median"].get<double>(), real_time["max"].get<double>(),
        real_time["at_least"].get<double>(), digits["us_per_frame"].get<double>(),
        100 * digits["front_end_share"].get<double>());
  }
}

void print_thread_rows(const Json& rows) {
  for (const Json& row : rows) {
    const auto number = [&](const char* key, const char* which) {
      return row.at(key).at(which).get<double>();
    };
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.2f} |\n",
               row.at("model").get<std::string>(), number("one_us", "median"), number("one_us", "min"),
               number("threads_us", "median"), number("threads_us", "min"), number("ratio", "median"),
               number("ratio", "min"));
  }
}

void print_threads(const Json& threads) {
  fmt::print(
      "\n## Several cores\n\n"
      "Whole clips with one thread and with {}, in turn, {} times, on all cores "
      "(`bench/threads_bench`). Operators are split by positions or\n"
      "channels; the outputs are the same bits. The second core of a virtual machine is not always "
      "available: the first\nrow, independent multiply-adds, is the speedup that several cores allowed in "
      "this run.\n\n"
      "| model | one thread, us | least | {} threads, us | least | ratio of medians | of least "
      "|\n|---|---:|---:|---:|---:|---:|---:|\n",
      threads.at("threads").get<int>(), threads.at("rounds").get<int>(), threads.at("threads").get<int>());
  print_thread_rows(threads.at("models"));
  if (!threads.contains("graphs")) return;
  fmt::print(
      "\nGraphs with one thread and with {}, in turn, {} times, from samples in memory, microseconds per "
      "second "
      "of sound by the clock on the wall\n(`bench/threads_bench --digits build/models/digits/digits.rnl`). A "
      "branch "
      "is front end, network and decision of the digits. The first row, as many graphs that\nshare nothing, "
      "is the speedup that the cores allowed in this run. `--threads` places nodes by measured cost and "
      "leaves "
      "them on one thread where it expects no gain\n([pipeline.md](pipeline.md#several-threads)).\n\n"
      "| graph | one thread, us | least | {} threads, us | least | ratio of medians | of least "
      "|\n|---|---:|---:|---:|---:|---:|---:|\n",
      threads.at("threads").get<int>(), threads.at("graph_rounds").get<int>(),
      threads.at("threads").get<int>());
  print_thread_rows(threads.at("graphs"));
}

void print_floats(const Json& floats) {
  fmt::print(
      "\n## Float networks\n\n"
      "Networks of `.onnx` files in float32, one thread, compared with ONNX Runtime with all its "
      "optimisations, in turn in one program, {} times:\n\n"
      "    RUNNEL_BENCH_ORT=libonnxruntime.so.1 taskset -c 1 build/bench/float_bench --data FOLDER\n\n"
      "*step*: one call of a network with explicit state, which is then copied from its output to its input. "
      "*stream N*: N source frames per call; runnel\n"
      "keeps the histories, ONNX Runtime gets the shortest window that determines the new frames (M3: the "
      "variant with explicit state and the new frames\n"
      "alone, which is less work). *clip of N* and *window*: the same call for both. Results of "
      "both are compared before anything is timed:\n"
      "the largest difference is given relative to the largest result. The goal is a ratio of at least 1.\n\n"
      "The floor is what the processor allows at best: multiply-adds over the rate of its fused "
      "multiply-adds in registers ({:.0f} GMAC/s, measured in the same run) or bytes of\n"
      "weights over the rate at which 1024 KB are read repeatedly ({:.0f} GB/s), whichever is more. "
      "Layers that see a single frame are bound by their weights.\n\n"
      "| network | runnel, us | least | ONNX Runtime, us | least | ratio of medians | of least | floor, us | "
      "difference |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
      floats.at("rounds").get<int>(), floats.at("peak_gmacs").get<double>(),
      floats.at("peak_gigabytes").get<double>());
  for (const Json& one : floats.at("cases")) {
    const auto number = [&](const char* key, const char* which) {
      return one.at(key).at(which).get<double>();
    };
    const double apart = one.at("difference").get<double>();
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {} |\n",
               one.at("name").get<std::string>(), number("runnel_us", "median"), number("runnel_us", "min"),
               number("onnxruntime_us", "median"), number("onnxruntime_us", "min"), number("ratio", "median"),
               number("ratio", "min"), one.at("floor_us").get<double>(),
               apart < 0 ? "" : fmt::format("{:.0e}", apart));
  }
}

// Null for a missing argument, discarded for an unsuitable file.
Json read(int argc, char** argv, int position, const char* type) {
  if (argc <= position) return Json();
  std::ifstream file(argv[position]);
  const Json json = file ? Json::parse(file, nullptr, false) : Json(Json::value_t::discarded);
  return json.is_discarded() || json.value("type", "") != type ? Json(Json::value_t::discarded) : json;
}

}  // namespace

int main(int argc, char** argv) {
  const Json speed = read(argc, argv, 1, "bench"), threads = read(argc, argv, 2, "threads"),
             floats = read(argc, argv, 3, "floats");
  if (speed.is_null() || speed.is_discarded() || threads.is_discarded() || floats.is_discarded() ||
      argc > 4) {
    std::fputs(
        "usage: speed_table speed.json [threads.json] [floats.json] > docs/speed.md (what inference_bench, "
        "threads_bench and float_bench print)\n",
        stderr);
    return 2;
  }
  print_page(speed);
  if (!threads.is_null()) print_threads(threads);
  if (!floats.is_null()) print_floats(floats);
}
