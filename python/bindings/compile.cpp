// Models of other tools: quantized, imported, exported; and models as source for firmware.
#include <pybind11/stl.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/model.h"
#include "services/convert/export_model.h"
#include "services/convert/import_model.h"
#include "services/embed/embed_model.h"
#include "services/quantize/quantize_model.h"

namespace runnel::python {

namespace py = pybind11;

namespace {

// Settings of a request by name; what is None, or not given, stays as it is.
class Settings {
 public:
  explicit Settings(const py::dict& given) : given_(given) {}
  template <class T>
  Settings& to(const char* name, T& field) {
    if (!given_.contains(name)) return *this;
    ++known_;
    if (const py::object value = given_[name]; !value.is_none()) field = value.cast<T>();
    return *this;
  }
  void done() const {
    if (known_ != given_.size()) throw py::type_error("a setting that this function does not have");
  }

 private:
  const py::dict& given_;
  std::size_t known_ = 0;
};

void take_usage(Settings& settings, compiler::UsageOptions& usage) {
  settings.to("usage", usage.usage)
      .to("window", usage.window)
      .to("hop", usage.hop)
      .to("step", usage.step)
      .to("context", usage.context)
      .to("look_ahead", usage.look_ahead)
      .to("output_frames", usage.output_frames);
}

// The calls into Python of one long computation, which runs without the interpreter's lock.
class Callbacks {
 public:
  explicit Callbacks(py::object progress) : progress_(std::move(progress)) {}

  // Thrown through the computation in the thread that called it; nothing is written then.
  struct Stopped {};

  void progress(std::string_view stage, double fraction) {
    const bool own = std::this_thread::get_id() == caller_;
    {
      const std::lock_guard lock(mutex_);
      if (own && failed_) throw Stopped();
      const auto now = std::chrono::steady_clock::now();
      if (stage == stage_ && now - told_ < std::chrono::milliseconds(50)) return;
      stage_ = stage;
      told_ = now;
    }
    const py::gil_scoped_acquire lock;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!progress_.is_none()) progress_(std::string(stage), fraction);
    } catch (...) {
      const std::lock_guard keep(mutex_);
      if (!failed_) failed_ = std::current_exception();
    }
    const std::lock_guard look(mutex_);
    if (own && failed_) throw Stopped();
  }
  void say(std::string_view sentence) {
    const std::lock_guard lock(mutex_);
    notes_.emplace_back(sentence);
  }
  // Runs `work` without the lock; what a callback has thrown comes out of it.
  template <class Work>
  auto run(const Work& work) {
    try {
      const py::gil_scoped_release release;
      return work();
    } catch (const Stopped&) {
    }
    std::rethrow_exception(std::exchange(failed_, {}));
  }
  // One that was thrown where no exception could pass.
  void rethrow() {
    if (failed_) std::rethrow_exception(std::exchange(failed_, {}));
  }
  [[nodiscard]] py::list notes() const {
    py::list out;
    for (const std::string& note : notes_)
      out.append(py::reinterpret_steal<py::object>(
          PyUnicode_DecodeUTF8(note.data(), static_cast<Py_ssize_t>(note.size()), "replace")));
    return out;
  }

 private:
  py::object progress_;
  const std::thread::id caller_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::string stage_ = "\n";
  std::chrono::steady_clock::time_point told_;
  std::exception_ptr failed_;
  std::vector<std::string> notes_;
};

py::dict quantize(const py::dict& given, const py::dict& options, const py::object& progress) {
  quantize::QuantizeRequest request;
  Settings settings(given);
  settings.to("input", request.input)
      .to("output", request.output)
      .to("clips", request.calib)
      .to("table", request.table)
      .to("save_table", request.save_table)
      .to("report", request.report)
      .to("front_end", request.front_end.text)
      .to("sample_rate", request.front_end.sample_rate)
      .to("bits", request.bits)
      .to("bits_of", request.types)
      .to("scheme", request.scheme)
      .to("target", request.target)
      .to("calibration", request.calibration)
      .to("methods", request.methods)
      .to("with_methods", request.with)
      .to("without_methods", request.without)
      .to("classes", request.class_names)
      .to("decision", request.decision)
      .to("name", request.name)
      .to("layout", request.layout)
      .to("states", request.states)
      .to("evaluate", request.eval)
      .to("labels", request.labels)
      .to("max_error", request.max_error)
      .to("budget", request.budget)
      .to("max_clips", request.clips)
      .to("chunk", request.chunk)
      .to("seed", request.seed)
      .to("threads", request.threads);
  take_usage(settings, request.usage);
  settings.done();
  if (request.bits != 8 && request.bits != 16)
    throw Failure(Status(Code::invalid_argument) << "bits=" << request.bits << ", expected 8 or 16");
  if (request.scheme != "pow2" && request.scheme != "affine")
    throw Failure(Status(Code::invalid_argument)
                  << "scheme=\"" << request.scheme << "\", expected pow2 or affine");
  if (request.layout != "source" && request.layout != "frames-first")
    throw Failure(Status(Code::invalid_argument)
                  << "layout=\"" << request.layout << "\", expected source or frames-first");
  if (request.threads < 1 || request.threads > 32)
    throw Failure(Status(Code::invalid_argument) << "threads=" << request.threads << ", expected 1 to 32");
  const compiler::LoadOptions load = load_options_of(options);
  Callbacks calls(progress);
  request.progress = [&](std::string_view stage, double fraction) { calls.progress(stage, fraction); };
  request.say = [&](std::string_view sentence) { calls.say(sentence); };
  const quantize::QuantizeOutcome outcome =
      calls.run([&] { return value_of(quantize::quantize_model(std::move(request), load)); });
  calls.rethrow();
  py::dict out;
  out["methods"] = outcome.methods;
  py::list trials;
  for (const auto& trial : outcome.trials)
    trials.append(py::make_tuple(compiler::quantizer::names_of(trial.methods), trial.error));
  out["trials"] = trials;
  out["error"] = outcome.error;
  out["json"] = outcome.json;
  out["bytes"] = outcome.bytes;
  out["notes"] = calls.notes();
  return out;
}

py::list import_model(const py::dict& given, const py::dict& options) {
  convert::ImportRequest request;
  Settings settings(given);
  settings.to("input", request.input)
      .to("output", request.output)
      .to("name", request.name)
      .to("front_end", request.front_end)
      .to("sample_rate", request.sample_rate)
      .to("decision", request.decision)
      .to("labels", request.label_names)
      .to("states", request.states)
      .to("blocks", request.blocks)
      .to("strip_names", request.strip_names)
      .to("encrypt", request.encrypt)
      .to("pow2", request.pow2);
  take_usage(settings, request.usage);
  settings.done();
  const compiler::LoadOptions load = load_options_of(options);
  Callbacks calls{py::none()};
  request.say = [&](std::string_view sentence) { calls.say(sentence); };
  calls.run([&] {
    check(convert::import_model(std::move(request), load));
    return 0;
  });
  return calls.notes();
}

py::list export_model(const py::dict& given, const py::dict& options) {
  convert::ExportRequest request;
  Settings settings(given);
  settings.to("inputs", request.inputs)
      .to("output", request.output)
      .to("target", request.target)
      .to("package", request.package)
      .to("version", request.version)
      .to("chunk", request.chunk)
      .to("seed", request.seed)
      .to("encrypt", request.encrypt);
  settings.done();
  const compiler::LoadOptions load = load_options_of(options);
  Callbacks calls{py::none()};
  request.say = [&](std::string_view sentence) { calls.say(sentence); };
  calls.run([&] {
    check(convert::export_model(std::move(request), load));
    return 0;
  });
  return calls.notes();
}

// Texts of C++ as a list of Python.
py::list list_of(const std::vector<std::string>& texts) {
  py::list out;
  for (const std::string& text : texts) out.append(py::str(text));
  return out;
}

py::dict embed(const py::dict& given, const py::dict& options) {
  embedding::EmbedRequest request;
  Settings settings(given);
  settings.to("model", request.model)
      .to("output", request.output)
      .to("name", request.name)
      .to("front_end", request.front_end)
      .to("decision", request.decision)
      .to("sample_rate", request.sample_rate)
      .to("channels", request.channels)
      .to("samples", request.samples)
      .to("hop", request.hop)
      .to("events", request.events)
      .to("memory", request.memory)
      .to("fast", request.fast)
      .to("step", request.step)
      .to("counters", request.counters)
      .to("cores", request.cores)
      .to("self_test", request.self_test)
      .to("runnel", request.runnel)
      .to("build_system", request.build_system)
      .to("model_partition", request.in_partition)
      .to("profile", request.profile)
      .to("model_version", request.model_version)
      .to("key", request.key)
      .to("target", request.target);
  settings.done();
  const compiler::LoadOptions load = load_options_of(options);
  Callbacks calls{py::none()};
  request.say = [&](std::string_view sentence) { calls.say(sentence); };
  const embedding::EmbedOutcome made =
      calls.run([&] { return value_of(embedding::embed_model(std::move(request), load)); });
  py::dict out;
  out["name"] = made.name;
  out["files"] = list_of(made.files);
  out["model_bytes"] = made.model_bytes;
  out["operators"] = made.operators;
  out["kinds"] = list_of(made.kinds);
  out["sample_rate"] = made.sample_rate;
  out["channels"] = made.channels;
  out["hop"] = made.hop;
  out["samples"] = made.samples;
  out["memory_bytes"] = made.memory_bytes;
  out["fast_bytes"] = made.fast_bytes;
  out["npu"] = made.npu;
  out["notes"] = calls.notes();
  return out;
}

}  // namespace

void bind_compile(py::module_& module) {
  module.def("quantize", &quantize, py::arg("request"), py::arg("options"), py::arg("progress"));
  module.def("import_model", &import_model, py::arg("request"), py::arg("options"));
  module.def("export_model", &export_model, py::arg("request"), py::arg("options"));
  module.def("embed", &embed, py::arg("request"), py::arg("options"));
}

}  // namespace runnel::python
