// Writes docs/speed.md from what inference_bench and threads_bench measured: speed_table speed.json [threads.json] > docs/speed.md
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
    const std::string rate = value.contains("gmacs") ? fmt::format("{:.1f}", value["gmacs"].get<double>()) : "";
    fmt::print("| {} | {} | {:.3f} | {:.3f} | {} |\n", name.substr(0, slash), name.substr(slash + 1), value["median_us"].get<double>(),
               value["min_us"].get<double>(), rate);
  }
}

void print_ratios(const Json& ratios) {
  fmt::print("| ratio | of medians | of least | goal | reached |\n|---|---:|---:|---:|---|\n");
  const auto word = [](bool median, bool least) { return median && least ? "yes" : median ? "in the median only" : least ? "in the least only" : "no"; };
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
  for (const auto& word : machine.at("vector_extensions")) extensions += (extensions.empty() ? "" : " ") + word.get<std::string>();
  fmt::print(
      "# Speed of inference\n\n"
      "One thread, one core, unless said otherwise. Written by `bench/speed_table` from one run of `bench/inference_bench`; do not edit. To measure again:\n\n"
      "    scripts/speed.sh\n\n"
      "All cases of the table were run in turn, {} times round, in one program: on a busy machine every case suffers alike, so that the\n"
      "ratios say more than the microseconds. Before anything is timed the streamed outputs are compared with the whole clip's and these\n"
      "with the plain reference loops (equal, bit for bit), and XNNPACK's with ours (equal up to its rounding of ties).\n\n"
      "| | |\n|---|---|\n| processor | {} |\n| vector extensions | {} |\n| kernels in use | {} |\n| load of the machine | {:.1f} runnable threads on {} cores |\n\n"
      "Medians are what this machine gave under that load; the least times are closer to what it gives when left alone. A goal counts as\n"
      "reached when both ratios reach it.\n\n",
      speed.at("rounds").get<int>(), machine.at("cpu").get<std::string>(), extensions, machine.at("isa").get<std::string>(), machine.at("load").get<double>(), machine.at("cores").get<int>());
  fmt::print(
      "**M1** is a streaming keyword network: 40 features per frame, a stem of 5 frames, six residual blocks (depthwise 9 taps, pointwise\n"
      "64 x 64, sum, ReLU), a pointwise head: 44,928 multiply-adds per frame. **M2** is the depthwise-separable network of MLPerf Tiny:\n"
      "49 x 10 features, 2.66 million multiply-adds. int8 with power-of-two scales, random weights from a fixed seed (`bench/networks.h`).\n"
      "*stream N*: N frames per call, state kept; *whole*: one second at once. XNNPACK's operators are created once and called in\n"
      "sequence, its state moved by memmove. ONNX Runtime's models pool over time and end in a dense layer as well, and get their state\n"
      "as tensors from outside. *kernels alone*: runnel's own kernels of one step, called back to back on buffers that stay.\n\n");
  print_cases(speed.at("cases"));
  fmt::print("\n## Ratios\n\n");
  print_ratios(speed.at("ratios"));
  const Json& call = speed.at("call_overhead_us");
  fmt::print("\nA call on a model of one layer costs {:.3f} us more than its kernel (median; least {:.3f}; goal: at most {:g}).\n", call["median"].get<double>(),
             call["min"].get<double>(), call["at_most"].get<double>());
  if (speed.contains("digits")) {
    const Json& digits = speed["digits"];
    const Json& real_time = digits["times_real_time"];
    fmt::print(
        "\n## The digits graph\n\n16 kHz samples in memory, 40-bin log-mel features, the network, decisions: {:.0f} times real time (processor time) in the median, {:.0f} at best "
        "(goal: at least {:g}), which is {:.2f} us per frame of 10 ms; the front end takes {:.0f} % of the fastest runs.\n",
        real_time["median"].get<double>(), real_time["max"].get<double>(), real_time["at_least"].get<double>(), digits["us_per_frame"].get<double>(),
        100 * digits["front_end_share"].get<double>());
  }
}

void print_threads(const Json& threads) {
  fmt::print(
      "\n## Several cores\n\n"
      "Whole clips with one thread and with {}, in turn, {} times round, on all cores (`bench/threads_bench`). Operators are split by positions or\n"
      "channels; the outputs are the same bits. A virtual machine's second core is not always there: the first row, multiply-adds\n"
      "that share nothing, is what several cores gave at all in this run.\n\n"
      "| model | one thread, us | least | {} threads, us | least | ratio of medians | of least |\n|---|---:|---:|---:|---:|---:|---:|\n",
      threads.at("threads").get<int>(), threads.at("rounds").get<int>(), threads.at("threads").get<int>());
  for (const Json& model : threads.at("models")) {
    const auto number = [&](const char* key, const char* which) { return model.at(key).at(which).get<double>(); };
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.2f} |\n", model.at("model").get<std::string>(), number("one_us", "median"), number("one_us", "min"),
               number("threads_us", "median"), number("threads_us", "min"), number("ratio", "median"), number("ratio", "min"));
  }
}

Json read(const char* path, const char* type) {
  std::ifstream file(path);
  const Json json = file ? Json::parse(file, nullptr, false) : Json(Json::value_t::discarded);
  return json.is_discarded() || json.value("type", "") != type ? Json(Json::value_t::discarded) : json;
}

}  // namespace

int main(int argc, char** argv) {
  const Json speed = argc > 1 ? read(argv[1], "bench") : Json(Json::value_t::discarded);
  const Json threads = argc > 2 ? read(argv[2], "threads") : Json();
  if (speed.is_discarded() || threads.is_discarded() || argc > 3) {
    std::fputs("usage: speed_table speed.json [threads.json] > docs/speed.md (what inference_bench and threads_bench print)\n", stderr);
    return 2;
  }
  print_page(speed);
  if (!threads.is_null()) print_threads(threads);
}
