// Graphs between arrays of NumPy.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "npu/host/simulator/simulated_npu.h"
#include "pipeline/host/promise.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/model.h"
#include "python/bindings/python_node.h"
#include "services/arrays/array_graph.h"
#include "services/listen/model_graph.h"

namespace runnel::python {

namespace py = pybind11;
using pipeline::Kind;

namespace {

py::str python_text(std::string_view text) {
  auto made = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (!made) throw py::error_already_set();
  return made;
}

// What an end of the graph has collected.
struct EndPart {
  py::array data;  // [frames, values]
  std::vector<std::pair<std::size_t, std::int64_t>> runs;
  std::vector<py::str> records;
};

class BoundGraph {
 public:
  BoundGraph(const std::string& text, int threads, std::int64_t tick, const std::string& on_gap,
             bool insert_conversions, const py::dict& load_options,
             std::vector<std::shared_ptr<LoadedModel>> models,
             const std::map<std::string, py::object>& functions)
      : models_(load_options_of(load_options)), nodes_(std::make_shared<PythonNodes>()) {
    for (auto& model : models) models_.add(std::move(model));
    nodes_->functions = functions;
    pipeline::GraphOptions options;
    node_types_ = pipeline::with_nodes(options.nodes, {&PythonNode::type});
    options.nodes = node_types_;
    options.tick = tick;
    options.threads = threads;
    if (threads < 1 || threads > pipeline::kMaxGraphThreads)
      throw Failure(Status(Code::invalid_argument)
                    << "threads=" << threads << ", expected 1 to " << pipeline::kMaxGraphThreads);
    if (on_gap != "reset" && on_gap != "zeros")
      throw Failure(Status(Code::invalid_argument) << "on_gap=\"" << on_gap << "\", expected reset or zeros");
    options.on_gap = on_gap == "zeros" ? pipeline::OnGap::zeros : pipeline::OnGap::reset;
    options.insert_conversions = insert_conversions;
    options.models = &models_;
    options.operators = npu::simulating_operators();
    options.stop = &stop_;
    options.note = [this](std::string_view note) {
      const std::lock_guard lock(notes_mutex_);
      notes_.emplace_back(note);
    };
    options.amend = [this](pipeline::GraphText& graph) { name_functions(graph); };
    Status status;
    {
      const py::gil_scoped_release release;
      const PythonNode::Building building(nodes_);
      auto built = arrays::ArrayGraph::build(text, options);
      if (built.ok())
        graph_ = std::move(*built);
      else
        status = built.status();
    }
    for (const std::string& note : models_.take_notes()) notes_.push_back(note);
    if (status.ok()) return;
    nodes_->rethrow();
    throw Failure(std::move(status));
  }
  ~BoundGraph() {
    const py::gil_scoped_release release;  // threads of the graph may wait for the lock
    graph_.reset();
  }

  // Samples for the source of this name, for run(); they are kept until the graph is run.
  void give(const std::string& name, py::handle samples) {
    for (const auto& source : graph_->sources()) {
      if (source.name != name) continue;
      given_.push_back(array_for(*source.node, samples, "samples"));
      source.node->give(reinterpret_cast<const float*>(given_.back().data), given_.back().count);
      source.node->close();
      return;
    }
    throw Failure(Status(Code::not_found) << "the graph has no source `samples` named " << name);
  }

  void feed(py::handle samples) {
    if (graph_->sources().size() != 1)
      throw Failure(Status(Code::invalid_argument) << "samples for a graph with " << graph_->sources().size()
                                                   << " sources `samples`, expected 1");
    const SamplesArray array = array_for(*graph_->sources()[0].node, samples, "samples");
    run([&] { return graph_->feed(reinterpret_cast<const float*>(array.data), array.count); });
  }
  void finish() {
    run([&] { return graph_->finish(); });
  }
  void restart() {
    run([&] {
      graph_->restart();
      return Status();
    });
  }

  // Steps until the end, or for about this long, or until records have come. True at the end.
  bool advance(double milliseconds) {
    if (done_) return true;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
    run([&] {
      while (!done_) {
        RUNNEL_TRY(graph_->graph().step(done_));
        if (std::chrono::steady_clock::now() >= until) break;
      }
      // What run() does at the end: notes of the nodes, and whether actions on events failed.
      return done_ ? graph_->graph().run() : Status();
    });
    return done_;
  }

  // Runs to the end. Ctrl-C ends the stream as it ends that of the program: nodes are flushed, files are
  // complete.
  void run_all() {
    std::optional<py::error_already_set> interrupted;
    auto looked = std::chrono::steady_clock::now();
    if (!watched_) {
      watched_ = true;
      graph_->graph().on_step([this](const pipeline::Graph&) {
        if (stepped_) stepped_();
      });
    }
    stepped_ = [&] {
      const auto now = std::chrono::steady_clock::now();
      if (now - looked < std::chrono::milliseconds(50)) return;
      looked = now;
      const py::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() == 0 || interrupted) return;
      interrupted.emplace();
      stop_ = true;
    };
    const auto clear = [this](void*) { stepped_ = {}; };
    const std::unique_ptr<void, decltype(clear)> guard(this, clear);
    run([&] {
      Status status = graph_->graph().run();
      done_ = status.ok();
      return status;
    });
    if (interrupted) throw std::move(*interrupted);
  }
  void stop() { stop_ = true; }

  EndPart take(std::size_t index) {
    if (index >= graph_->ends().size()) throw py::index_error("there is no such end");
    arrays::Collect& sink = *graph_->ends()[index].sink;
    arrays::Collected got;
    {
      const py::gil_scoped_release release;
      got = sink.take();
    }
    EndPart part;
    const pipeline::Format& format = sink.format();
    if (format.kind != Kind::events)
      part.data = array_of(format.dtype, {got.frames, format.channels}, std::move(got.data));
    for (const arrays::Run& run : got.runs) part.runs.emplace_back(run.row, run.first);
    for (const std::string& record : got.records) part.records.push_back(python_text(record));
    return part;
  }

  [[nodiscard]] py::list ends() const {
    py::list out;
    for (const auto& end : graph_->ends()) {
      const pipeline::Format& format = end.sink->format();
      py::dict about;
      about["name"] = python_text(end.name);
      about["kind"] = std::string(pipeline::name_of(format.kind));
      about["dtype"] =
          format.kind == Kind::events ? py::none() : py::object(py::dtype(number_of(format.dtype)));
      about["values"] = static_cast<std::int64_t>(format.channels);
      about["exponent"] = format.exponent;
      about["rate"] = format.clock.hz();
      // Frame i starts at begin + i * hop seconds and covers span seconds.
      const double second = 1.0 / (static_cast<double>(format.clock.sample_rate) *
                                   static_cast<double>(format.clock.denominator));
      about["begin"] = static_cast<double>(format.clock.begin) * second;
      about["hop"] = static_cast<double>(format.clock.hop) * second;
      about["span"] = static_cast<double>(format.clock.span) * second;
      py::list labels;
      for (const std::string_view label : format.labels) labels.append(python_text(label));
      about["labels"] = labels;
      out.append(about);
    }
    return out;
  }
  [[nodiscard]] std::vector<py::str> sources() const {
    std::vector<py::str> names;
    for (const auto& source : graph_->sources()) names.push_back(python_text(source.name));
    return names;
  }
  [[nodiscard]] py::str summary() const { return python_text(graph_->graph().summary()); }
  [[nodiscard]] py::str latency() const { return python_text(graph_->graph().latency()); }
  [[nodiscard]] py::str text() const { return python_text(pipeline::to_text(graph_->graph().text())); }
  std::vector<py::str> take_notes() {
    std::vector<std::string> notes;
    {
      const std::lock_guard lock(notes_mutex_);
      std::swap(notes, notes_);
    }
    std::vector<py::str> out;
    for (const std::string& note : notes) out.push_back(python_text(note));
    return out;
  }

 private:
  // Nodes named after functions become `python` nodes.
  void name_functions(pipeline::GraphText& graph) const {
    for (pipeline::NodeText& node : graph.nodes) {
      if (!nodes_->functions.contains(node.type)) continue;
      node.parameters.push_back({"function", node.type, node.position});
      if (node.name.empty()) node.name = node.type;
      node.type = PythonNode::type.name;
    }
  }

  static SamplesArray array_for(const arrays::SamplesSource& source, py::handle given,
                                std::string_view what) {
    if (source.values == 0) return samples_of(given, what, source.channels);
    FramesArray frames = frames_of(given, what, DType::float32, source.values);
    SamplesArray out;
    static_cast<DenseArray&>(out) = std::move(frames);
    out.count = frames.count;
    return out;
  }

  // Without the interpreter's lock, one thread at a time.
  template <class Work>
  void run(const Work& work) {
    Status status;
    {
      const py::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      status = work();
    }
    if (status.ok()) return;
    nodes_->rethrow();
    throw Failure(std::move(status));
  }

  GraphModels models_;
  std::shared_ptr<PythonNodes> nodes_;
  std::vector<const pipeline::NodeType*> node_types_;
  std::atomic<bool> stop_ = false;
  std::mutex notes_mutex_;
  std::vector<std::string> notes_;
  std::vector<SamplesArray> given_;
  std::function<void()> stepped_;
  bool watched_ = false;
  std::mutex mutex_;
  std::unique_ptr<arrays::ArrayGraph> graph_;
  bool done_ = false;
};

}  // namespace

void bind_graph(py::module_& module) {
  py::class_<EndPart>(module, "EndPart")
      .def_readonly("data", &EndPart::data)
      .def_readonly("runs", &EndPart::runs)
      .def_readonly("records", &EndPart::records);
  py::class_<BoundGraph>(module, "Graph")
      .def(py::init<const std::string&, int, std::int64_t, const std::string&, bool, const py::dict&,
                    std::vector<std::shared_ptr<LoadedModel>>, const std::map<std::string, py::object>&>(),
           py::arg("text"), py::arg("threads"), py::arg("tick"), py::arg("on_gap"),
           py::arg("insert_conversions"), py::arg("load_options"), py::arg("models"), py::arg("functions"))
      .def("give", &BoundGraph::give)
      .def("feed", &BoundGraph::feed)
      .def("finish", &BoundGraph::finish)
      .def("restart", &BoundGraph::restart)
      .def("advance", &BoundGraph::advance)
      .def("run_all", &BoundGraph::run_all)
      .def("stop", &BoundGraph::stop)
      .def("take", &BoundGraph::take)
      .def("take_notes", &BoundGraph::take_notes)
      .def_property_readonly("ends", &BoundGraph::ends)
      .def_property_readonly("sources", &BoundGraph::sources)
      .def_property_readonly("summary", &BoundGraph::summary)
      .def_property_readonly("latency", &BoundGraph::latency)
      .def_property_readonly("text", &BoundGraph::text);
  module.attr("file_tick") = listen::kFileTick;
}

}  // namespace runnel::python
