// Sessions of a model for arrays.
#include <pybind11/stl.h>
#include <structmember.h>

#include <mutex>
#include <string>
#include <utility>

#include "npu/host/simulator/simulated_npu.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/model.h"
#include "services/sessions/frame_session.h"

namespace runnel::python {

namespace py = pybind11;

namespace {

// runnel.Frames: a tuple with names, which is quicker to make than an object of a class.
PyTypeObject* frames_type() {
  static PyTypeObject* const type = [] {
    static PyStructSequence_Field fields[] = {
        {"first",
         "Index of the first frame in the recording, as the run over the whole recording counts them; "
         "without frames, of the next one to come."},
        {"data", "Array [frames, values]."},
        {nullptr, nullptr}};
    static PyStructSequence_Desc about = {"runnel.Frames",
                                          "Frames that a call brought: first, data.\n\n"
                                          "`first, data = session.push(x)` takes it apart.",
                                          fields, 2};
    return PyStructSequence_NewType(&about);
  }();
  return type;
}

py::object frames_object(const sessions::FrameType& type, const sessions::FrameBatch& batch) {
  py::object data = copy_of(type.dtype, batch.count, type.values, batch.data.data());
  PyObject* const made = PyStructSequence_New(frames_type());
  PyObject* const first = PyLong_FromLongLong(batch.first);
  if (made == nullptr || first == nullptr) throw py::error_already_set();
  PyStructSequence_SetItem(made, 0, first);
  PyStructSequence_SetItem(made, 1, data.release().ptr());
  return py::reinterpret_steal<py::object>(made);
}

// A session behind a lock: two threads that push into one session take turns, and never harm it.
class ArraySession {
 public:
  ArraySession(std::shared_ptr<const sessions::FrameModel> model,
               std::unique_ptr<sessions::FrameSession> session)
      : model_(std::move(model)), session_(std::move(session)) {}

  py::object push(py::handle given) {
    const FramesArray frames = frames_of(given, "frames", model_->input().dtype, model_->input().values);
    return run([&](sessions::FrameBatch& batch) { return session_->push(frames.data, frames.count, batch); });
  }
  py::object flush() {
    return run([&](sessions::FrameBatch& batch) { return session_->flush(batch); });
  }
  py::object whole(py::handle given) {
    const FramesArray frames = frames_of(given, "frames", model_->input().dtype, model_->input().values);
    return run([&](sessions::FrameBatch& batch) {
      session_->reset();
      RUNNEL_TRY(session_->push(frames.data, frames.count, batch));
      sessions::FrameBatch rest;
      RUNNEL_TRY(session_->flush(rest));
      session_->reset();
      if (batch.count == 0) batch.first = rest.first;
      batch.count += rest.count;
      batch.data.insert(batch.data.end(), rest.data.begin(), rest.data.end());
      return Status();
    });
  }
  void reset() {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    session_->reset();
  }
  py::bytes save() {
    std::vector<std::byte> bytes;
    {
      const py::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      bytes = value_of(session_->save());
    }
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void restore(const py::bytes& given) {
    const std::string_view bytes = given;
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    check(session_->restore(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  }
  std::unique_ptr<ArraySession> clone() {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return std::make_unique<ArraySession>(model_, value_of(session_->clone()));
  }
  // Pushes every frame of an array by itself, `rounds` times, in C++ alone: what bench/python_step.py
  // compares with the same loop in Python.
  void push_each(py::handle given, int rounds) {
    const FramesArray frames = frames_of(given, "frames", model_->input().dtype, model_->input().values);
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    for (int round = 0; round < rounds; ++round) {
      for (std::int64_t i = 0; i < frames.count; ++i)
        check(session_->push(frames.data + static_cast<std::size_t>(i) * model_->input().bytes(), 1, batch_));
    }
  }
  [[nodiscard]] const sessions::FrameModel& model() const { return *model_; }
  // The numbers are read under the lock as well.
  template <class Read>
  auto read(const Read& number) {
    const py::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    return number(*session_);
  }

 private:
  template <class Work>
  py::object run(const Work& work) {
    Status status;
    sessions::FrameBatch batch;
    {
      const py::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      status = work(batch_);
      std::swap(batch, batch_);  // another thread may use it next
    }
    check(std::move(status));
    py::object made = frames_object(model_->output(), batch);
    give_back(std::move(batch));
    return made;
  }
  // Keeps the memory for the next call.
  void give_back(sessions::FrameBatch batch) {
    if (!mutex_.try_lock()) return;
    batch_ = std::move(batch);
    mutex_.unlock();
  }

  std::shared_ptr<const sessions::FrameModel> model_;
  std::unique_ptr<sessions::FrameSession> session_;
  std::mutex mutex_;
  sessions::FrameBatch batch_;
};

std::unique_ptr<ArraySession> make_session(LoadedModel& model, const std::string& output, bool integers,
                                           bool dequantize, std::int64_t block) {
  sessions::FrameOptions options;
  options.output = output;
  options.integers = integers;
  options.dequantize = dequantize;
  options.block = block;
  options.operators = npu::simulating_operators();
  auto prepared = model.prepared(options);
  auto session = value_of(sessions::FrameSession::make(prepared));
  return std::make_unique<ArraySession>(std::move(prepared), std::move(session));
}

}  // namespace

void bind_session(py::module_& module) {
  module.attr("Frames") = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(frames_type()));
  module.attr("Frames").attr("__module__") = "runnel";
  py::class_<ArraySession>(module, "Session", R"(One stream of frames through a model.

Made by Model.session(). Sessions of one model share its weights; each is one stream. Calls from several threads are
safe: different sessions run at the same time, calls of one session take turns. The lock of the interpreter is
released while a session computes.)")
      .def("push", &ArraySession::push, py::arg("frames"),
           R"(Takes frames and returns those that became ready: Frames(first, data).

frames: float32 [frames, values] or one frame [values], dense (a copy is made of others); with integers=True the
model's own type. Any number at a time: the frames that come out do not depend on how they went in.
data: [frames, values] in the type output_dtype, possibly without frames; first: the index of the first of them.)")
      .def("flush", &ArraySession::flush, R"(The stream has ended: returns the remaining frames.

After it the session takes no frames until reset().)")
      .def("whole", &ArraySession::whole, py::arg("frames"),
           R"(A whole recording at once: reset, push, flush, reset. Returns Frames.)")
      .def("_push_each", &ArraySession::push_each)
      .def("reset", &ArraySession::reset, "Back to the start of a stream.")
      .def("clone", &ArraySession::clone, "Another session of the same model in the same state.")
      .def("save", &ArraySession::save, "The state of the stream as bytes, for restore().")
      .def("restore", &ArraySession::restore, py::arg("state"),
           "Goes to a saved state. Bytes of another model or block size are refused, and change nothing.")
      .def_property_readonly(
          "input_values", [](const ArraySession& self) { return self.model().input().values; },
          "Values of an input frame.")
      .def_property_readonly(
          "input_dtype",
          [](const ArraySession& self) { return py::dtype(number_of(self.model().input().dtype)); },
          "NumPy type of input frames.")
      .def_property_readonly(
          "input_exponent", [](const ArraySession& self) { return self.model().input().exponent; },
          "Of integers: value = integer * 2**exponent.")
      .def_property_readonly(
          "output_values", [](const ArraySession& self) { return self.model().output().values; },
          "Values of an output frame.")
      .def_property_readonly(
          "output_dtype",
          [](const ArraySession& self) { return py::dtype(number_of(self.model().output().dtype)); },
          "NumPy type of output frames.")
      .def_property_readonly(
          "output_exponent", [](const ArraySession& self) { return self.model().output().exponent; },
          "Of integers: value = integer * 2**exponent.")
      .def_property_readonly(
          "rate", [](const ArraySession& self) { return std::pair(self.model().up(), self.model().down()); },
          "(up, down): output frames for each input frame, as a fraction.")
      .def_property_readonly(
          "taken",
          [](ArraySession& self) { return self.read([](const auto& session) { return session.taken(); }); },
          "Frames that the stream has taken.")
      .def_property_readonly(
          "next",
          [](ArraySession& self) { return self.read([](const auto& session) { return session.next(); }); },
          "Index of the next frame to come.")
      .def_property_readonly(
          "ended",
          [](ArraySession& self) { return self.read([](const auto& session) { return session.ended(); }); },
          "Whether the stream was flushed.");
  module.def("make_session", &make_session, py::arg("model"), py::arg("output"), py::arg("integers"),
             py::arg("dequantize"), py::arg("block"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace runnel::python
