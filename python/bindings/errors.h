// Failures of the libraries as exceptions of Python: runnel.Error and its kinds, with the program's sentence.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include "base/status.h"

namespace runnel::python {

// Becomes the exception of its code (python/runnel/errors.py) when it reaches Python.
class Failure : public std::exception {
 public:
  explicit Failure(Status status) : status_(std::move(status)) {}
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] const char* what() const noexcept override { return "runnel failed"; }

 private:
  Status status_;
};

// Throws where it is not ok.
inline void check(Status status) {
  if (!status.ok()) throw Failure(std::move(status));
}
template <class T>
T value_of(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

// Called once, by the module.
void bind_errors(pybind11::module_& module);

}  // namespace runnel::python
