// Real models of a folder, whole and streamed, one thread: beside ONNX Runtime where the file is .onnx, with
// the slowest layer of each and its share of what the machine allows.
//
// stdout: one JSON object, or with --page the page docs/speed-models.md; stderr: what is going on. Pin it:
//   RUNNEL_BENCH_ORT=libonnxruntime.so.1 taskset -c 1 build/bench/models_bench [--seconds S] [--only TEXT]
//     [--layers] [--page] [FILE or FOLDER ...]
// --layers: all layers of each model on stderr. Folders (default: RUNNEL_TEST_DATA) are searched for .onnx,
// .tflite, .espdl and .pte files. Inputs are noise of both signs. Results of ONNX Runtime are compared with
// ours before anything is timed; a model whose shapes are open, or that one of the two refuses, is listed
// with the reason.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/host/machine_peak.h"
#include "bench/interleaved.h"
#include "bench/models_page.h"
#ifdef RUNNEL_BENCH_ONNXRUNTIME
#include "bench/onnxruntime_session.h"
#endif
#include "compiler/import/load.h"
#include "inference/host/cost.h"
#include "inference/host/engine.h"
#include "inference/host/noise.h"
#include "inference/host/slow_layers.h"

namespace runnel::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Options {
  double seconds = 1;  // of timing, per model
  std::string only;
  bool page = false, layers = false;
  const char* library = nullptr;  // ONNX Runtime's, when it shall be measured too
  std::vector<fs::path> paths;
};

// Networks of the test data that are there in both.
const std::vector<NumbersPair> kPairs = {
    {"moonshine/spelling_cnn_mel.shrunk.onnx", "moonshine/spelling_cnn_mel_int8.tflite"},
    {"dtln/model_1.onnx", "dtln/model_quant_1.tflite"},
    {"dtln/model_2.onnx", "dtln/model_quant_2.tflite"},
    {"mlperf-tiny/ad01_fp32.tflite", "mlperf-tiny/ad01_int8.tflite"},
    {"mlperf-tiny/kws_ref_model_float32.tflite", "mlperf-tiny/kws_ref_model.tflite"},
    {"tflm/trained_lstm.tflite", "tflm/trained_lstm_int8.tflite"},
    {"digits/digits_T98.onnx", "digits/digits_c_s8.espdl"},
    {"digits/digits_T98.onnx", "digits/digits_esp32p4_s8.espdl"},
    {"tcn/tcn3_c_s8.onnx", "tcn/tcn3_c_s8.espdl"},
    {"tcn/tcn3_esp32p4_s8.onnx", "tcn/tcn3_esp32p4_s8.espdl"},
    {"streaming/model.onnx", "streaming/model.espdl"},
    {"peers/M1_f32_T100.onnx", "peers/M1_u8_T100.onnx"},
    {"peers/M2_f32.onnx", "peers/M2_u8.onnx"},
};

// What a model's file leaves open.
compiler::LoadOptions load_options(const fs::path& file) {
  compiler::LoadOptions load;
  const std::string name = file.filename().string(), parent = file.parent_path().filename().string();
  if (parent == "silero-vad" && name.find("v3") == std::string::npos) {
    load.onnx.shapes["input"] = {1, 576};
    if (name.find("openvino") == std::string::npos) load.onnx.values["sr"] = {16000};
  }
  if (parent == "openwakeword" && name == "melspectrogram.onnx") load.onnx.shapes["input"] = {1, 12640};
  if (parent == "openwakeword" && name == "embedding_model.onnx")
    load.onnx.shapes["input_1"] = {1, 76, 32, 1};
  if ((parent == "trained" || parent == "har") && !name.starts_with("M2")) {
    const std::int64_t channels = parent == "har" ? 6 : 40, frames = parent == "har" ? 128 : 98;
    load.onnx.shapes["feats"] = {1, channels, frames};
  }
  return load;
}

// One way of running a model, with its inputs at hand: their memory is reused by a run.
class Ours {
 public:
  static Result<std::unique_ptr<Ours>> make(const std::shared_ptr<const OwnedModel>& model, RunMode mode) {
    PrepareOptions options;
    options.mode = mode;
    auto ours = std::unique_ptr<Ours>(new Ours);
    RUNNEL_ASSIGN(const auto engine, Engine::make(model, options));
    RUNNEL_ASSIGN(ours->runner_, Runner::make(engine));
    std::mt19937 random(7);
    for (std::size_t i = 0; i < model->model().inputs().size(); ++i) {
      std::vector<std::byte>& bytes =
          ours->inputs_.emplace_back(ours->runner_->session().input(static_cast<int>(i)).size());
      fill_noise(bytes, model->model().tensor(model->model().inputs()[i]).dtype, random);
    }
    return ours;
  }
  void run() {
    Session& session = runner_->session();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      std::memcpy(session.input(static_cast<int>(i)).data(), inputs_[i].data(), inputs_[i].size());
    session.run(runner_->prepared().block());
  }
  [[nodiscard]] const std::vector<std::vector<std::byte>>& inputs() const { return inputs_; }
  [[nodiscard]] Runner& runner() { return *runner_; }

 private:
  Ours() = default;
  std::unique_ptr<Runner> runner_;
  std::vector<std::vector<std::byte>> inputs_;
};

struct Case {
  std::string file, name;  // name: with the way it runs
  std::unique_ptr<Ours> ours;
#ifdef RUNNEL_BENCH_ONNXRUNTIME
  std::unique_ptr<OnnxRuntimeSession> peer;
#endif
  ModelRow row;
};

#ifdef RUNNEL_BENCH_ONNXRUNTIME
// The same inputs in ONNX Runtime, and the largest difference of the results, relative to the largest of
// them; null with a reason when it can't run the file.
std::unique_ptr<OnnxRuntimeSession> open_peer(const std::string& library, const fs::path& file, Ours& ours,
                                              const compiler::LoadOptions& load, std::string& why,
                                              double& difference) {
  const Model& model = ours.runner().model();
  OnnxRuntimeInputs open;
  for (const std::int32_t tensor : model.inputs()) {
    const Shape shape = model.tensor(tensor).shape;
    std::vector<std::int64_t>& sizes = open.shapes[std::string(model.tensor_name(tensor))];
    for (int i = 0; i < shape.rank; ++i) sizes.push_back(shape[i]);
  }
  for (const auto& [name, values] : load.onnx.values) open.values[name] = values.front();
  auto peer = onnxruntime_session(library, file.string(), why, open);
  if (peer == nullptr) return nullptr;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const std::string name(model.tensor_name(model.inputs()[i]));
    const std::span<std::byte> to = peer->input(name);
    if (to.size() != ours.inputs()[i].size()) {
      why = fmt::format("its input {} has {} bytes, ours {}", name, to.size(), ours.inputs()[i].size());
      return nullptr;
    }
    std::memcpy(to.data(), ours.inputs()[i].data(), to.size());
  }
  ours.run();
  peer->run();
  difference = -1;
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    if (model.tensor(model.outputs()[i]).dtype != DType::float32) continue;
    const std::span<const std::byte> theirs =
        peer->output(std::string(model.tensor_name(model.outputs()[i])));
    const auto* const x =
        reinterpret_cast<const float*>(ours.runner().session().output(static_cast<int>(i)).block);
    const auto* const y = reinterpret_cast<const float*>(theirs.data());
    double largest = 0, size = 0;
    for (std::size_t k = 0; k < theirs.size() / sizeof(float); ++k) {
      const double apart = std::fabs(static_cast<double>(x[k]) - static_cast<double>(y[k]));
      largest = apart <= largest ? largest : apart;  // a NaN sticks
      size = std::max(size, std::fabs(static_cast<double>(y[k])));
    }
    if (size > 0) difference = std::max(difference, largest / size);
  }
  return peer;
}
#endif

std::int64_t macs_of(Runner& runner) {
  std::int64_t macs = 0;
  for (int i = 0; i < runner.model().operator_count(); ++i) {
    const fb::Operator& op = runner.model().op(i);
    macs += multiply_adds(runner.model(), op, runner.prepared().shape(op.outputs()->Get(0)));
  }
  return macs;
}

// The step that takes the largest part of the time, and those that are slow for this machine.
Status find_slowest(const std::shared_ptr<const OwnedModel>& model, RunMode mode, bool print, ModelRow& row) {
  RUNNEL_ASSIGN(const SpeedReport report, check_speed(model, mode));
  for (const StepProfile& step : report.profile.steps) {
    if (print)
      fmt::print(stderr, "  {:>4.1f} % {:>9.3f} us {:>6.1f} GMAC/s {:>4.0f} % {} {} ({})\n", 100 * step.share,
                 step.microseconds, step.gmacs_per_second, 100 * step.peak_share, step.type, step.name,
                 step.kernel);
  }
  for (const StepProfile& step : report.profile.steps) {
    if (step.share <= row.layer_share) continue;
    row.layer_share = step.share;
    row.layer = step.type + (step.name.empty() ? "" : " " + step.name);
    row.layer_gmacs = step.gmacs_per_second;
    row.layer_peak_share = step.peak_share;
    row.kernel = step.kernel;
  }
  for (const StepProfile& step : report.slow) row.slow.push_back(slow_text(step));
  return {};
}

std::vector<fs::path> files_of(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  const auto is_model = [](const fs::path& path) {
    const std::string ending = path.extension().string();
    return ending == ".onnx" || ending == ".tflite" || ending == ".espdl" || ending == ".pte" ||
           ending == ".rnl";
  };
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && is_model(entry.path())) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Times one model both ways; false, with a reason, when it can't run.
bool measure(const fs::path& file, const Options& options, std::vector<ModelRow>& rows, std::string& why) {
  const compiler::LoadOptions load = load_options(file);
  auto loaded = compiler::load_model(file, load);
  if (!loaded.ok()) {
    why = loaded.status().text();
    return false;
  }
  std::vector<Case> cases;
  for (const RunMode mode : {RunMode::whole, RunMode::stream}) {
    if (mode == RunMode::stream && loaded->model->model().plan() == nullptr) continue;
    auto ours = Ours::make(loaded->model, mode);
    if (!ours.ok()) {
      why = ours.status().text();
      return false;
    }
    Case& one = cases.emplace_back();
    one.ours = std::move(*ours);
    one.row.model = file.parent_path().filename().string() + "/" + file.filename().string();
    one.row.mode =
        mode == RunMode::whole ? "whole" : fmt::format("stream {}", one.ours->runner().prepared().block());
    one.row.macs = macs_of(one.ours->runner());
    const Model& model = loaded->model->model();
    one.row.floats = model.tensor(model.op(0).outputs()->Get(0)).dtype == DType::float32;
    for (int i = 0; i < model.operator_count(); ++i) {
      const fb::Operator& op = model.op(i);
      if (multiply_adds(model, op, model.tensor(op.outputs()->Get(0)).shape) == 0) continue;
      one.row.floats = model.tensor(op.outputs()->Get(0)).dtype == DType::float32;
      break;
    }
    if (const Status status = find_slowest(loaded->model, mode, options.layers, one.row); !status.ok()) {
      why = status.text();
      return false;
    }
#ifdef RUNNEL_BENCH_ONNXRUNTIME
    if (mode == RunMode::whole && options.library != nullptr && file.extension() == ".onnx") {
      one.peer = open_peer(options.library, file, *one.ours, load, one.row.peer_refused, one.row.difference);
    }
#endif
  }
  Interleaved timed;
  for (Case& one : cases) {
    timed.add(one.row.mode, [&one] { one.ours->run(); });
#ifdef RUNNEL_BENCH_ONNXRUNTIME
    if (one.peer != nullptr) timed.add(one.row.mode + " peer", [&one] { one.peer->run(); });
#endif
  }
  const std::map<std::string, Times> times = timed.run(options.seconds);
  for (Case& one : cases) {
    one.row.ours = times.at(one.row.mode);
#ifdef RUNNEL_BENCH_ONNXRUNTIME
    if (one.peer != nullptr) one.row.peer = times.at(one.row.mode + " peer");
#endif
    rows.push_back(one.row);
  }
  return true;
}

int run(const Options& options) {
  ModelsPage page;
  page.peak = measure_peak();
  page.pairs = kPairs;
  for (const fs::path& file : files_of(options.paths)) {
    if (file.string().find(options.only) == std::string::npos) continue;
    std::string why;
    const std::size_t before = page.rows.size();
    if (!measure(file, options, page.rows, why)) {
      // The page names models by their folder and name: where they lie is this machine's affair.
      std::string sentence(why);
      if (const std::string place = file.string() + ": "; sentence.starts_with(place))
        sentence.erase(0, place.size());
      page.refused.emplace_back(file.parent_path().filename().string() + "/" + file.filename().string(),
                                std::move(sentence));
      fmt::print(stderr, "{}: {}\n", file.string(), why);
    }
    for (std::size_t i = before; i < page.rows.size(); ++i)
      fmt::print(stderr, "{}\n", row_text(page.rows[i]));
  }
  if (page.rows.empty()) {
    fmt::print(stderr, "models_bench: no models that run\n");
    return 1;
  }
  const MachinePeak again = measure_peak();
  page.peak.int8_gmacs = std::max(page.peak.int8_gmacs, again.int8_gmacs);
  page.peak.float_gmacs = std::max(page.peak.float_gmacs, again.float_gmacs);
  page.peak.read_gigabytes = std::max(page.peak.read_gigabytes, again.read_gigabytes);
  fmt::print("{}", options.page ? markdown_of(page) : json_of(page).dump(1) + "\n");
  return 0;
}

}  // namespace
}  // namespace runnel::bench

int main(int argc, char** argv) {
  runnel::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--seconds" && i + 1 < argc) {
      options.seconds = std::strtod(argv[++i], nullptr);
    } else if (option == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (option == "--layers") {
      options.layers = true;
    } else if (option == "--page") {
      options.page = true;
    } else if (!option.starts_with("--")) {
      options.paths.emplace_back(option);
    } else {
      std::fputs("usage: models_bench [--seconds S] [--only TEXT] [--layers] [--page] [FILE or FOLDER ...]\n",
                 stderr);
      return 2;
    }
  }
  options.library = std::getenv("RUNNEL_BENCH_ORT");
#ifndef RUNNEL_BENCH_ONNXRUNTIME
  if (options.library != nullptr) {
    std::fputs("models_bench: RUNNEL_BENCH_ORT is set, but this build has no RUNNEL_ONNXRUNTIME_HEADERS\n",
               stderr);
    return 2;
  }
#endif
  if (const char* data = std::getenv("RUNNEL_TEST_DATA"); options.paths.empty() && data != nullptr)
    options.paths.emplace_back(data);
  if (options.paths.empty()) {
    std::fputs("models_bench: no models: give files or folders, or set RUNNEL_TEST_DATA\n", stderr);
    return 2;
  }
  return runnel::bench::run(options);
}
