// Float networks of .onnx files, stepped as streams, compared with ONNX Runtime: one thread, alternating,
// in one run.
//
// stdout: one JSON object; stderr: the same as a table. Pin it to a core:
//   RUNNEL_BENCH_ORT=libonnxruntime.so.1 taskset -c 1 build/bench/float_bench [--seconds S] [--data
//   FOLDER] > floats.json
// The folder (default: RUNNEL_TEST_DATA) holds models/dtln, models/silero-vad and trained; missing
// models are skipped.
//
// Equal steps for both:
// * Networks with explicit state (DTLN, Silero): one call, then the state is copied from the output
//   to the input.
// * Networks without (M1, M1s, H1) keep the histories of their convolutions in a runnel session. ONNX Runtime
//   has no sessions: it gets the shortest window that determines the new frames, already in place.
// * M3 streamed keeps the history of its stem and its recurrent state. ONNX Runtime gets the variant with
//   explicit state and the new frames alone: it computes less, because the stem's history is missing (its
//   numbers are not compared).
// * Whole clips: the same call for both.
// Before timing, both run on the same random numbers; the largest difference is reported, and one above 1e-3
// ends the program.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/host/machine_peak.h"
#include "bench/interleaved.h"
#include "bench/onnxruntime_session.h"
#include "compiler/import/load.h"
#include "inference/host/engine.h"
#include "inference/host/profile.h"
#include "inference/host/receptive_field.h"

namespace runnel::bench {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "float_bench: {}\n", why);
  std::exit(1);
}

template <class T>
T need(Result<T> result) {
  if (!result.ok()) give_up(std::string(result.status().text()));
  return std::move(result).value();
}

// One network and its steps.
struct FloatCase {
  std::string name, file;
  RunMode mode = RunMode::whole;
  std::int64_t frames = 0;    // source frames of a step or clip; 0: no time axis
  std::string input, output;  // the signal, and the tensor compared
  std::vector<std::pair<std::string, std::string>> states;  // output, input
  std::vector<std::int64_t> shape;                          // of the input if open in the file; -1: frames
  std::string peer_file;                                    // ONNX Runtime's file, if different
  std::int64_t rate = 0;                                    // value of the input "sr"; 0: none
};

std::vector<FloatCase> all_cases() {
  const std::string silero = "models/silero-vad/", trained = "trained/";
  std::vector<FloatCase> cases;
  cases.push_back({"DTLN 1, step",
                   "models/dtln/model_1.onnx",
                   RunMode::whole,
                   0,
                   "input_2",
                   "activation_2",
                   {{"tf_op_layer_stack_2", "input_3"}},
                   {},
                   "",
                   0});
  cases.push_back({"DTLN 2, step",
                   "models/dtln/model_2.onnx",
                   RunMode::whole,
                   0,
                   "input_4",
                   "conv1d_3",
                   {{"tf_op_layer_stack_5", "input_5"}},
                   {},
                   "",
                   0});
  for (const auto& [name, file, rate] :
       {std::tuple{"Silero 16k op15, step", "silero_vad_16k_op15.onnx", 16000},
        {"Silero op16, step", "silero_vad.onnx", 16000},
        {"Silero op18 without If, step", "silero_vad_op18_ifless.onnx", 16000},
        {"Silero for OpenVINO, step", "silero_vad_openvino_16k.onnx", 0}}) {
    cases.push_back({name,
                     silero + file,
                     RunMode::whole,
                     0,
                     "input",
                     "output",
                     {{"stateN", "state"}},
                     {1, 576},
                     "",
                     rate});
  }
  for (const auto& [name, file, block] :
       {std::tuple{"M1", "M1.onnx", 1}, {"M1s", "M1s.onnx", 2}, {"H1", "har/H1.onnx", 2}}) {
    const std::int64_t channels = std::string(name) == "H1" ? 6 : 40, clip = channels == 6 ? 128 : 98;
    for (const int frames : {block, 4 * block}) {
      cases.push_back({fmt::format("{}, stream {}", name, frames),
                       trained + file,
                       RunMode::stream,
                       frames,
                       "feats",
                       "logits",
                       {},
                       {1, channels, -1},
                       "",
                       0});
    }
    cases.push_back({fmt::format("{}, clip of {}", name, clip),
                     trained + file,
                     RunMode::whole,
                     clip,
                     "feats",
                     "logits",
                     {},
                     {1, channels, -1},
                     "",
                     0});
  }
  for (const int frames : {2, 8}) {
    cases.push_back({fmt::format("M3, stream {}", frames),
                     trained + "M3.onnx",
                     RunMode::stream,
                     frames,
                     "feats",
                     "logits",
                     {},
                     {1, 40, -1},
                     trained + "M3_state.onnx",
                     0});
  }
  cases.push_back(
      {"M3, clip of 98", trained + "M3.onnx", RunMode::whole, 98, "feats", "logits", {}, {1, 40, -1}, "", 0});
  cases.push_back({"M2, window", trained + "M2.onnx", RunMode::whole, 0, "mfcc", "logits", {}, {}, "", 0});
  return cases;
}

// Position of a graph input or output by name.
int position_of(const Model& model, std::span<const std::int32_t> tensors, const std::string& name) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (model.tensor_name(tensors[i]) == name) return static_cast<int>(i);
  }
  give_up("the model has no " + name);
}

std::span<const float> floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// Both engines on one network.
class Pair {
 public:
  Pair(const FloatCase& one, const std::string& library, const std::filesystem::path& data) : case_(one) {
    compiler::LoadOptions load;
    if (!one.shape.empty()) {
      load.onnx.shapes[one.input] = one.shape;
      if (one.frames > 0) load.onnx.shapes[one.input].back() = std::max<std::int64_t>(one.frames, 98);
    }
    if (one.rate > 0) load.onnx.values["sr"] = {one.rate};
    owned_ = need(compiler::load_model(data / one.file, load)).model;
    PrepareOptions options;
    options.mode = one.mode;
    options.frames = one.frames;
    runner_ = need(Runner::make(need(Engine::make(owned_, options))));
    const Model& model = runner_->model();
    signal_ = position_of(model, model.inputs(), one.input);
    result_ = position_of(model, model.outputs(), one.output);
    for (const auto& [from, to] : one.states) {
      State& state = states_.emplace_back();
      state.from = position_of(model, model.outputs(), from);
      state.to = position_of(model, model.inputs(), to);
      state.data.resize(runner_->session().input(state.to).size());
    }
    OnnxRuntimeInputs open;
    window_ = one.frames;
    if (one.mode == RunMode::stream && one.peer_file.empty()) {
      const ReceptiveField field = receptive_fields(
          runner_->prepared())[static_cast<std::size_t>(model.outputs()[static_cast<std::size_t>(result_)])];
      stride_ = static_cast<std::int64_t>(field.stride);
      window_ = static_cast<std::int64_t>(field.frames()) + one.frames - stride_;
      window_ = (window_ + stride_ - 1) / stride_ * stride_;
    }
    if (!one.shape.empty()) {
      open.shapes[one.input] = one.shape;
      if (one.frames > 0) open.shapes[one.input].back() = window_;
    }
    if (one.rate > 0) open.values["sr"] = one.rate;
    std::string why;
    peer_ = onnxruntime_session(library, (data / (one.peer_file.empty() ? one.file : one.peer_file)).string(),
                                why, open);
    if (peer_ == nullptr) give_up(one.name + ": ONNX Runtime: " + why);
    noise_.resize(runner_->session().input(signal_).size() / sizeof(float));
    fill(noise_);
  }

  void step() {
    Session& session = runner_->session();
    std::memcpy(session.input(signal_).data(), noise_.data(), noise_.size() * sizeof(float));
    // An input's memory is reused once it has been read: states wait elsewhere.
    for (const State& state : states_)
      std::memcpy(session.input(state.to).data(), state.data.data(), state.data.size());
    session.run(runner_->prepared().block());
    for (State& state : states_)
      std::memcpy(state.data.data(), session.output(state.from).block, state.data.size());
  }
  void peer_step() {
    peer_->run();
    for (const auto& [from, to] : case_.states)
      std::memcpy(peer_->input(to).data(), peer_->output(from).data(), peer_->input(to).size());
  }

  // The largest difference relative to the largest result; negative if not comparable.
  double difference() {
    if (case_.mode == RunMode::stream) return case_.peer_file.empty() ? streamed_difference() : -1;
    double largest = 0, size = 0;
    for (int i = 0; i < 8; ++i) {
      fill(noise_);
      std::memcpy(peer_->input(case_.input).data(), noise_.data(), noise_.size() * sizeof(float));
      step();
      peer_step();
      const std::span<const float> theirs = floats(peer_->output(case_.output));
      const auto* ours = reinterpret_cast<const float*>(runner_->session().output(result_).block);
      for (std::size_t k = 0; k < theirs.size(); ++k) collect(ours[k], theirs[k], largest, size);
    }
    return largest / size;
  }

  [[nodiscard]] std::int64_t macs() const {
    ProfileOptions options;
    options.mode = case_.mode;
    options.frames = case_.frames;
    options.runs = 1;
    return need(profile_model(owned_, options)).macs;
  }
  // Bytes of constants, all of which a call reads at least once.
  [[nodiscard]] std::size_t weight_bytes() const {
    std::size_t bytes = 0;
    for (int t = 0; t < runner_->model().tensor_count(); ++t) {
      if (runner_->model().tensor(t).constant) bytes += runner_->model().tensor(t).bytes();
    }
    return bytes;
  }
  [[nodiscard]] std::int64_t window() const { return window_; }

 private:
  void fill(std::vector<float>& values) {
    for (float& value : values) value = static_cast<float>(generator_() >> 8) / 8388608.0f - 1.0f;
  }
  static void collect(float ours, float theirs, double& largest, double& size) {
    const double apart = std::fabs(static_cast<double>(ours) - static_cast<double>(theirs));
    largest = apart <= largest ? largest : apart;  // a NaN sticks
    size = std::max(size, std::fabs(static_cast<double>(theirs)));
  }

  // Streams more frames than the window holds and compares the last output with the window's result.
  double streamed_difference() {
    const auto channels = static_cast<std::size_t>(case_.shape[1]),
               block = static_cast<std::size_t>(case_.frames), window = static_cast<std::size_t>(window_);
    const std::size_t total = (3 * window / block + 3) * block;
    std::vector<float> signal(channels * total);
    fill(signal);
    Session& session = runner_->session();
    session.reset();
    OutputFrames out;
    for (std::size_t at = 0; at < total; at += block) {
      auto* const x = reinterpret_cast<float*>(session.input(signal_).data());
      for (std::size_t c = 0; c < channels; ++c)
        std::copy_n(signal.data() + c * total + at, block, x + c * block);
      session.run(case_.frames);
      out = session.output(result_);
    }
    const std::size_t begin = total - window;
    auto* const x = reinterpret_cast<float*>(peer_->input(case_.input).data());
    for (std::size_t c = 0; c < channels; ++c)
      std::copy_n(signal.data() + c * total + begin, window, x + c * window);
    peer_->run();
    const std::span<const float> theirs = floats(peer_->output(case_.output));
    const std::int32_t tensor = runner_->model().outputs()[static_cast<std::size_t>(result_)];
    const auto frames = static_cast<std::size_t>(runner_->prepared().placement(tensor).frames),
               peer_frames = window / static_cast<std::size_t>(stride_);
    const auto* ours = reinterpret_cast<const float*>(out.block);
    double largest = 0, size = 0;
    for (std::int64_t i = 0; i < out.count; ++i) {
      const auto at = static_cast<std::size_t>(out.first + i) - begin / static_cast<std::size_t>(stride_);
      for (std::size_t c = 0; c < theirs.size() / peer_frames; ++c) {
        collect(ours[c * frames + static_cast<std::size_t>(out.offset + i)], theirs[c * peer_frames + at],
                largest, size);
      }
    }
    session.reset();
    return largest / size;
  }

  FloatCase case_;
  std::shared_ptr<const OwnedModel> owned_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<OnnxRuntimeSession> peer_;
  struct State {
    int from = 0, to = 0;  // output and input
    std::vector<std::byte> data;
  };
  std::vector<State> states_;
  int signal_ = 0, result_ = 0;
  std::int64_t window_ = 0, stride_ = 1;
  std::vector<float> noise_;
  std::mt19937 generator_{7};
};

int run(const std::string& library, const std::filesystem::path& data, double seconds,
        const std::string& only) {
  std::vector<std::pair<FloatCase, std::shared_ptr<Pair>>> pairs;
  std::map<std::string, double> differences;
  Interleaved timed;
  for (const FloatCase& one : all_cases()) {
    if (!std::filesystem::exists(data / one.file) || one.name.find(only) == std::string::npos) continue;
    const auto pair = std::make_shared<Pair>(one, library, data);
    differences[one.name] = pair->difference();
    if (!(differences[one.name] < 1e-3))
      give_up(fmt::format("{}: results differ by {:g} of the largest", one.name, differences[one.name]));
    timed.add(one.name + "/runnel", [pair] { pair->step(); });
    timed.add(one.name + "/onnxruntime", [pair] { pair->peer_step(); });
    pairs.emplace_back(one, pair);
  }
  if (pairs.empty()) give_up("no models below " + data.string());
  MachinePeak peak = measure_peak();
  const std::map<std::string, Times> times = timed.run(seconds);
  const MachinePeak again = measure_peak();
  peak.float_gmacs = std::max(peak.float_gmacs, again.float_gmacs);
  peak.read_gigabytes = std::max(peak.read_gigabytes, again.read_gigabytes);
  Json cases = Json::array();
  fmt::print(stderr, "{:<32}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}{:>9}{:>10}\n", "", "runnel us", "least",
             "ORT us", "least", "ratio", "least", "floor us", "apart");
  for (const auto& [one, pair] : pairs) {
    const Times ours = times.at(one.name + "/runnel"), theirs = times.at(one.name + "/onnxruntime");
    const double floor =
        peak.least_microseconds(pair->macs(), static_cast<std::int64_t>(pair->weight_bytes()), 4);
    cases.push_back({{"name", one.name},
                     {"runnel_us", {{"median", ours.median}, {"min", ours.min}}},
                     {"onnxruntime_us", {{"median", theirs.median}, {"min", theirs.min}}},
                     {"ratio", {{"median", theirs.median / ours.median}, {"min", theirs.min / ours.min}}},
                     {"macs", pair->macs()},
                     {"weight_bytes", pair->weight_bytes()},
                     {"floor_us", floor},
                     {"peer_window", pair->window()},
                     {"difference", differences[one.name]}});
    fmt::print(stderr, "{:<32}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>8.2f}{:>8.2f}{:>9.2f}{:>10.1e}\n",
               one.name, ours.median, ours.min, theirs.median, theirs.min, theirs.median / ours.median,
               theirs.min / ours.min, floor, differences[one.name]);
  }
  const Json out = {{"type", "floats"},
                    {"isa", name_of(best_isa())},
                    {"rounds", timed.rounds()},
                    {"peak_gmacs", peak.float_gmacs},
                    {"peak_gigabytes", peak.read_gigabytes},
                    {"cases", cases}};
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  double seconds = 10;
  const char* data = std::getenv("RUNNEL_TEST_DATA");
  const char* library = std::getenv("RUNNEL_BENCH_ORT");
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (option == "--data" && i + 1 < argc) {
      data = argv[++i];
    } else if (option == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      std::fputs("usage: float_bench [--seconds S] [--data FOLDER] [--only PART_OF_NAME] > floats.json\n",
                 stderr);
      return 2;
    }
  }
  if (data == nullptr || library == nullptr) {
    std::fputs(
        "float_bench: RUNNEL_BENCH_ORT names ONNX Runtime's shared library, RUNNEL_TEST_DATA or --data the "
        "folder with the models\n",
        stderr);
    return 2;
  }
  return runnel::bench::run(library, data, seconds, only);
}
