#include "python/bindings/model.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "inference/host/describe.h"
#include "inference/model/usage.h"
#include "npu/host/simulator/simulated_npu.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "services/describe/check_model.h"
#include "services/describe/model_json.h"
#include "services/listen/model_graph.h"
#include "services/models/find.h"
#include "services/trust/trust.h"

namespace runnel::python {

namespace py = pybind11;

namespace {

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? std::string() : text->str(); }

py::str python_text(std::string_view text) {
  auto made = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!made) throw py::error_already_set();
  return made;
}

crypto::Key key_of(py::handle given) {
  if (py::isinstance<py::bytes>(given)) {
    const auto bytes = given.cast<std::string>();
    if (bytes.size() != crypto::Key::kBytes)
      throw Failure(Status(Code::invalid_argument) << "a key of " << bytes.size() << " bytes, expected 16");
    return crypto::Key(
        std::as_bytes(std::span<const char, crypto::Key::kBytes>(bytes.data(), crypto::Key::kBytes)));
  }
  return value_of(crypto::Key::from_file(given.cast<std::string>()));
}

void set_pool_window(py::handle given, compiler::StreamOptions& stream) {
  if (py::isinstance<py::str>(given)) {
    const auto text = given.cast<std::string>();
    if (text != "clip" && text != "running")
      throw Failure(Status(Code::invalid_argument)
                    << "pool_window=\"" << text
                    << "\", expected a number of frames, (frames, hop), clip or running");
    stream.pool_window = text == "clip" ? compiler::StreamOptions::kClip : compiler::StreamOptions::kSoFar;
    return;
  }
  if (py::isinstance<py::tuple>(given)) {
    const auto [frames, hop] = given.cast<std::pair<std::int64_t, int>>();
    stream.pool_window = frames;
    stream.pool_hop = hop;
  } else {
    stream.pool_window = given.cast<std::int64_t>();
  }
  if (stream.pool_window < 1 || stream.pool_hop < 1)
    throw Failure(Status(Code::invalid_argument)
                  << "pool_window of " << stream.pool_window << " frames every " << stream.pool_hop
                  << ", expected at least 1");
}

compiler::AttentionWindow attention_of(py::handle given) {
  const auto parts = given.cast<std::vector<int>>();
  const bool good = !parts.empty() && parts.size() <= 3 &&
                    std::all_of(parts.begin(), parts.end(), [](int part) { return part >= 0; }) &&
                    (parts.size() < 3 || parts[2] > 0);
  if (!good)
    throw Failure(
        Status(Code::invalid_argument, "attention_window: expected (left, right, chunk) in frames"));
  compiler::AttentionWindow window{parts[0]};
  if (parts.size() > 1) window.right = parts[1];
  if (parts.size() > 2) window.chunk = parts[2];
  return window;
}

std::string front_end_of(const Model& model) {
  return model.pipeline() == nullptr ? std::string() : text_of(model.pipeline()->front_end());
}

std::vector<py::str> labels_of(const Model& model) {
  std::vector<py::str> labels;
  if (model.pipeline() == nullptr || model.pipeline()->labels() == nullptr) return labels;
  for (const flatbuffers::String* label : *model.pipeline()->labels())
    labels.push_back(python_text(label->string_view()));
  return labels;
}

std::string inspect_json(const LoadedModel& loaded, std::int64_t block, double frame_ms) {
  PrepareOptions options;
  options.frames = block;
  const ModelDescription about = value_of(describe_model(loaded.owned(), options));
  return describe::model_json(about, loaded.model(),
                              frame_ms > 0 ? frame_ms : describe::frame_milliseconds(loaded.model()));
}

struct CheckAnswer {
  bool passed = false;
  std::string json;
  std::vector<std::string> details;
};

CheckAnswer check_answer(const LoadedModel& loaded, const std::string& wav, std::int64_t frames,
                         std::uint32_t seed, bool speed) {
  if (frames < 0)
    throw Failure(Status(Code::invalid_argument) << "frames=" << frames << ", expected at least 0");
  compiler::FileLoader files(default_load_options());
  pipeline::GraphOptions options;
  options.models = &files;
  options.operators = npu::simulating_operators();
  CheckAnswer answer;
  const auto say = [&](std::string_view text) { answer.details.emplace_back(text); };
  options.note = say;
  const describe::CheckRequest request{loaded.given(), wav, frames, seed, speed};
  describe::CheckOutcome outcome = value_of(describe::check_model(loaded.owned(), request, options, say));
  answer.passed = outcome.passed;
  answer.json = std::move(outcome.json);
  return answer;
}

}  // namespace

compiler::LoadOptions default_load_options() {
  compiler::LoadOptions options;
  options.operators = npu::simulating_operators();
  options.find = [](std::string_view name) { return models::find_model(name); };
  options.verify = trust::verifier(value_of(trust::trust_of_environment()));
  return options;
}

compiler::LoadOptions load_options_of(const py::dict& given) {
  compiler::LoadOptions options = default_load_options();
  for (const auto& [name, value] : given) {
    const auto key = name.cast<std::string>();
    if (value.is_none()) continue;
    if (key == "target")
      options.target = value.cast<std::string>();
    else if (key == "member")
      options.member = value.cast<std::string>();
    else if (key == "key")
      options.key = key_of(value);
    else if (key == "trust")
      options.verify = trust::verifier(value_of(trust::Trust::read(py::str(value).cast<std::string>())));
    else if (key == "shapes")
      options.onnx.shapes = value.cast<std::map<std::string, std::vector<std::int64_t>>>();
    else if (key == "values")
      options.onnx.values = value.cast<std::map<std::string, std::vector<std::int64_t>>>();
    else if (key == "stream")
      options.stream.required = value.cast<bool>();
    else if (key == "time_axis")
      options.stream.time_axis = value.cast<int>();
    else if (key == "max_lookahead")
      options.stream.max_lookahead = value.cast<std::int64_t>();
    else if (key == "contexts")
      options.stream.contexts = value.cast<std::map<std::string, std::int64_t>>();
    else if (key == "pool_window")
      set_pool_window(value, options.stream);
    else if (key == "attention_window")
      options.stream.attention = attention_of(value);
    else
      throw py::type_error(
          "there is no argument '" + key +
          "'; expected target, member, key, trust, shapes, values, stream, time_axis, max_lookahead, "
          "contexts, pool_window or attention_window");
  }
  if (!options.key) options.key = value_of(crypto::Key::from_environment("RUNNEL_KEY"));
  return options;
}

std::shared_ptr<LoadedModel> LoadedModel::load(const std::string& path,
                                               const compiler::LoadOptions& options) {
  auto made = std::make_shared<LoadedModel>();
  made->given_ = path;
  made->path_ = options.find ? value_of(options.find(path)) : path;
  compiler::LoadedModel loaded = value_of(compiler::load_model(made->path_, options));
  made->options_ = options;
  made->owned_ = std::move(loaded.model);
  made->notes_ = std::move(loaded.notes);
  return made;
}

std::shared_ptr<const sessions::FrameModel> LoadedModel::prepared(const sessions::FrameOptions& options) {
  const Key key{options.output, options.integers, options.dequantize, options.block};
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const sessions::FrameModel>& kept = prepared_[key];
  if (auto found = kept.lock()) return found;
  auto made = value_of(sessions::FrameModel::make(owned_, path_, options));
  kept = made;
  return made;
}

void GraphModels::add(std::shared_ptr<LoadedModel> model) {
  const std::string path = model->path();
  given_.insert_or_assign(path, std::move(model));
}

Result<const Model*> GraphModels::load(std::string_view path) noexcept {
  if (const auto found = given_.find(path); found != given_.end()) return &found->second->model();
  return files_.load(path);
}

void bind_model(py::module_& module) {
  module.def("list_models", [] {
    py::dict out;
    for (const models::FoundModel& model : models::list_models())
      out[python_text(model.name)] = python_text(model.path);
    return out;
  });
  py::class_<CheckAnswer>(module, "CheckAnswer")
      .def_readonly("passed", &CheckAnswer::passed)
      .def_property_readonly("json", [](const CheckAnswer& self) { return python_text(self.json); })
      .def_property_readonly("details", [](const CheckAnswer& self) {
        std::vector<py::str> lines;
        for (const std::string& line : self.details) lines.push_back(python_text(line));
        return lines;
      });
  using Held = std::shared_ptr<LoadedModel>;
  py::class_<LoadedModel, Held>(module, "Model")
      .def(py::init([](const std::string& path, const py::dict& given) {
             const compiler::LoadOptions options = load_options_of(given);
             const py::gil_scoped_release release;
             return LoadedModel::load(path, options);
           }),
           py::arg("path"), py::arg("options"))
      .def_property_readonly("path", [](const LoadedModel& self) { return python_text(self.path()); })
      .def_property_readonly("name", [](const LoadedModel& self) { return python_text(self.model().name()); })
      .def_property_readonly("front_end",
                             [](const LoadedModel& self) { return python_text(front_end_of(self.model())); })
      .def_property_readonly("decision",
                             [](const LoadedModel& self) {
                               const fb::Pipeline* pipeline = self.model().pipeline();
                               return python_text(pipeline == nullptr ? "" : text_of(pipeline->decision()));
                             })
      .def_property_readonly("labels", [](const LoadedModel& self) { return labels_of(self.model()); })
      .def_property_readonly("sample_rate",
                             [](const LoadedModel& self) {
                               const fb::Pipeline* pipeline = self.model().pipeline();
                               return pipeline == nullptr ? 0 : static_cast<int>(pipeline->sample_rate());
                             })
      .def_property_readonly("usage",
                             [](const LoadedModel& self) {
                               const ModelUsage usage = value_of(usage_of(self.model()));
                               return std::string(runnel::name_of(usage.kind));
                             })
      .def_property_readonly("notes",
                             [](const LoadedModel& self) {
                               std::vector<py::str> notes;
                               for (const std::string& note : self.notes())
                                 notes.push_back(python_text(note));
                               return notes;
                             })
      .def("to_bytes",
           [](const LoadedModel& self) {
             const auto bytes = self.model().bytes();
             return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
           })
      .def(
          "inspect_json",
          [](const LoadedModel& self, std::int64_t block, double frame_ms) {
            std::string json;
            {
              const py::gil_scoped_release release;
              json = inspect_json(self, block, frame_ms);
            }
            return python_text(json);
          },
          py::arg("block") = 0, py::arg("frame_ms") = 0.0)
      .def("check_answer", &check_answer, py::arg("wav"), py::arg("frames"), py::arg("seed"),
           py::arg("speed"), py::call_guard<py::gil_scoped_release>())
      .def("file_chunk", [](const LoadedModel& self) { return listen::file_chunk(self.model()); })
      .def("text_around", [](const LoadedModel& self, const std::string& front_end,
                             const std::string& decision, std::int64_t chunk) {
        return python_text(
            value_of(listen::text_around({self.path(), front_end, decision, chunk}, self.model())));
      });
}

}  // namespace runnel::python
