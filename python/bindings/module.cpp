// The module runnel._runnel: the libraries for Python. What users see is python/runnel/, which adds names,
// defaults and objects.
#include <pybind11/pybind11.h>

#include "base/cpu.h"
#include "base/version.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

PYBIND11_MODULE(_runnel, module) {
  namespace python = runnel::python;
  module.doc() = "The libraries of runnel; use the package runnel.";
  module.attr("version") = std::string(runnel::kVersion);
  module.attr("vector_instructions") = std::string(runnel::name_of(runnel::best_isa()));
  python::bind_errors(module);
  python::bind_model(module);
  python::bind_session(module);
  python::bind_graph(module);
  python::bind_front_ends(module);
  python::bind_compile(module);
}
