// Between arrays of NumPy and memory: what is looked at, what is refused with a sentence, what is copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace runnel::python {

// The type number of NumPy for a type of ours, and the other way round; none for types that we do not have.
int number_of(DType dtype);
DType dtype_of(pybind11::handle array);

// An array that is dense and in the type asked for: the caller's own where it is so already, else a copy.
struct DenseArray {
  pybind11::array keep;  // owns what `data` points to
  const std::byte* data = nullptr;
};

// Sound or sensor readings [samples] or [samples, channels] as float32: float32 as it is; other floats
// rounded; int16 and int32 as fractions of their range, as the program reads recordings. `what` names the
// argument in refusals. Errors: InvalidArgument for other types, Mismatch for another number of channels.
struct SamplesArray : DenseArray {
  std::int64_t count = 0;
};
SamplesArray samples_of(pybind11::handle given, std::string_view what, std::int64_t channels);

// Frames [frames, values], [values] (one frame) or [frames, ...] with as many values per frame, of type
// `dtype`; where that is float32, other floats are rounded. Errors: InvalidArgument, Mismatch, naming both
// sides.
struct FramesArray : DenseArray {
  std::int64_t count = 0;
};
FramesArray frames_of(pybind11::handle given, std::string_view what, DType dtype, std::int64_t values);

// A new array [rows, columns] with a copy of these bytes.
pybind11::object copy_of(DType dtype, std::int64_t rows, std::int64_t columns, const std::byte* data);
// An array of this shape that takes over the bytes.
pybind11::array array_of(DType dtype, std::vector<pybind11::ssize_t> shape, std::vector<std::byte> data);

}  // namespace runnel::python
