#include "python/bindings/errors.h"

#include <string>

namespace runnel::python {

namespace py = pybind11;

namespace {

// The class for a code; the module of the classes is imported when the first failure comes.
py::object class_of(Code code) {
  const char* name = "Error";
  switch (code) {
    case Code::ok:
      break;
    case Code::invalid_argument:
      name = "InvalidArgument";
      break;
    case Code::invalid_data:
      name = "InvalidData";
      break;
    case Code::unsupported:
      name = "Unsupported";
      break;
    case Code::not_found:
      name = "NotFound";
      break;
    case Code::out_of_memory:
      name = "OutOfMemory";
      break;
    case Code::io_error:
      name = "IoError";
      break;
    case Code::mismatch:
      name = "Mismatch";
      break;
  }
  return py::module_::import("runnel.errors").attr(name);
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      // Sentences may carry bytes of damaged files.
      const std::string_view text = failure.status().text();
      const auto sentence = py::reinterpret_steal<py::object>(
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
      PyErr_SetObject(class_of(failure.status().code()).ptr(), sentence.ptr());
    }
  });
}

}  // namespace runnel::python
