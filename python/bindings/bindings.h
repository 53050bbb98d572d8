// What the module _runnel consists of. Each function adds the classes and functions of its file.
#pragma once

#include <pybind11/pybind11.h>

namespace runnel::python {

void bind_model(pybind11::module_& module);
void bind_session(pybind11::module_& module);
void bind_graph(pybind11::module_& module);
void bind_front_ends(pybind11::module_& module);
void bind_compile(pybind11::module_& module);

}  // namespace runnel::python
