#include "python/bindings/arrays.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "python/bindings/errors.h"

namespace runnel::python {

namespace py = pybind11;
using Api = py::detail::npy_api;

namespace {

struct TypeNumber {
  DType dtype;
  int number;
};
constexpr TypeNumber kNumbers[] = {
    {DType::int8, Api::NPY_INT8_},     {DType::uint8, Api::NPY_UINT8_},    {DType::int16, Api::NPY_INT16_},
    {DType::uint16, Api::NPY_UINT16_}, {DType::int32, Api::NPY_INT32_},    {DType::int64, Api::NPY_INT64_},
    {DType::float32, Api::NPY_FLOAT_}, {DType::float64, Api::NPY_DOUBLE_}, {DType::boolean, Api::NPY_BOOL_},
};

bool is_array(py::handle given) { return Api::get().PyArray_Check_(given.ptr()); }

// Any object as an array, without a change of its type.
py::array as_array(py::handle given, std::string_view what) {
  if (is_array(given)) return py::reinterpret_borrow<py::array>(given);
  py::array made = py::array::ensure(given);
  if (made) return made;
  PyErr_Clear();
  throw Failure(Status(Code::invalid_argument)
                << what << ": a " << py::str(py::type::of(given).attr("__name__")).cast<std::string>()
                << ", expected an array of numbers");
}

// A dense copy in another type.
py::array converted(const py::array& from, int number) {
  auto made = py::reinterpret_steal<py::object>(Api::get().PyArray_FromAny_(
      from.ptr(), Api::get().PyArray_DescrFromType_(number), 0, 0,
      Api::NPY_ARRAY_C_CONTIGUOUS_ | Api::NPY_ARRAY_ALIGNED_ | Api::NPY_ARRAY_FORCECAST_, nullptr));
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::array>(made.release());
}

bool native(const py::array& array) {
  const char order = array.dtype().byteorder();
  return order == '=' || order == '|' || order == '<';
}
bool dense(const py::array& array) {
  constexpr int kNeeded = Api::NPY_ARRAY_C_CONTIGUOUS_ | Api::NPY_ARRAY_ALIGNED_;
  return (array.flags() & kNeeded) == kNeeded;
}

std::string name_of_type(const py::array& array) { return py::str(array.dtype()).cast<std::string>(); }
std::string shape_of(const py::array& array) {
  std::string text = "[";
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis)
    text += (axis > 0 ? ", " : "") + std::to_string(array.shape(axis));
  return text + "]";
}

bool is_float(const py::array& array) { return array.dtype().kind() == 'f'; }

// Fractions of an integer's range.
template <class Integer>
py::array fractions_of(const py::array& from, int number, double range) {
  const py::array source = dense(from) && native(from) ? from : converted(from, number);
  py::array_t<float> made(std::vector<py::ssize_t>(from.shape(), from.shape() + from.ndim()));
  const auto* x = static_cast<const Integer*>(source.data());
  float* y = made.mutable_data();
  for (py::ssize_t i = 0; i < made.size(); ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) / range);
  return made;
}

py::array to_floats(const py::array& given, std::string_view what, bool sound) {
  const DType dtype = dtype_of(given);
  if (dtype == DType::float32 && dense(given) && native(given)) return given;
  if (is_float(given)) return converted(given, Api::NPY_FLOAT_);
  if (sound && dtype == DType::int16) return fractions_of<std::int16_t>(given, Api::NPY_INT16_, 32768.0);
  if (sound && dtype == DType::int32) return fractions_of<std::int32_t>(given, Api::NPY_INT32_, 2147483648.0);
  throw Failure(Status(Code::invalid_argument)
                << what << ": an array of " << name_of_type(given) << ", expected float32"
                << (sound ? ", float64, int16 or int32" : " or float64"));
}

}  // namespace

int number_of(DType dtype) {
  for (const TypeNumber& each : kNumbers)
    if (each.dtype == dtype) return each.number;
  throw Failure(Status(Code::unsupported) << "an array of " << name_of(dtype));
}

DType dtype_of(py::handle array) {
  const int number = py::reinterpret_borrow<py::array>(array).dtype().num();
  for (const TypeNumber& each : kNumbers)
    if (each.number == number) return each.dtype;
  // `long long` is another type than `long`, of the same size.
  return number == Api::NPY_LONGLONG_ ? DType::int64 : DType::none;
}

SamplesArray samples_of(py::handle given, std::string_view what, std::int64_t channels) {
  SamplesArray out;
  out.keep = to_floats(as_array(given, what), what, true);
  const py::ssize_t rank = out.keep.ndim();
  const std::int64_t found = rank == 1 ? 1 : rank == 2 ? out.keep.shape(1) : 0;
  if (rank < 1 || rank > 2 || found != channels) {
    throw Failure(Status(Code::mismatch) << what << ": an array " << shape_of(out.keep) << ", expected "
                                         << (channels == 1 ? std::string("[samples] or [samples, 1]")
                                                           : "[samples, " + std::to_string(channels) + "]"));
  }
  out.count = out.keep.shape(0);
  out.data = static_cast<const std::byte*>(out.keep.data());
  return out;
}

FramesArray frames_of(py::handle given, std::string_view what, DType dtype, std::int64_t values) {
  FramesArray out;
  py::array array = as_array(given, what);
  if (dtype == DType::float32) {
    array = to_floats(array, what, false);
  } else {
    if (dtype_of(array) != dtype)
      throw Failure(Status(Code::invalid_argument) << what << ": an array of " << name_of_type(array)
                                                   << ", expected the model's own " << name_of(dtype));
    if (!dense(array) || !native(array)) array = converted(array, number_of(dtype));
  }
  // [frames] where a frame is one value, [values] for one frame.
  const py::ssize_t rank = array.ndim();
  std::int64_t inner = 1;
  for (py::ssize_t axis = 1; axis < rank; ++axis) inner *= array.shape(axis);
  if (rank >= 1 && inner == values)
    out.count = array.shape(0);
  else if (rank == 1 && array.shape(0) == values)
    out.count = 1;
  else
    throw Failure(Status(Code::mismatch) << what << ": an array " << shape_of(array) << ", expected [frames, "
                                         << values << "] or one frame, [" << values << "]");
  out.data = static_cast<const std::byte*>(array.data());
  out.keep = std::move(array);
  return out;
}

py::object copy_of(DType dtype, std::int64_t rows, std::int64_t columns, const std::byte* data) {
  const Py_intptr_t shape[] = {rows, columns};
  const Api& api = Api::get();
  auto made = py::reinterpret_steal<py::object>(
      api.PyArray_NewFromDescr_(api.PyArray_Type_, api.PyArray_DescrFromType_(number_of(dtype)), 2, shape,
                                nullptr, nullptr, 0, nullptr));
  if (!made) throw py::error_already_set();
  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * size_of(dtype);
  if (bytes > 0) std::memcpy(py::detail::array_proxy(made.ptr())->data, data, bytes);
  return made;
}

py::array array_of(DType dtype, std::vector<py::ssize_t> shape, std::vector<std::byte> data) {
  auto owner = std::make_unique<std::vector<std::byte>>(std::move(data));
  const std::byte* const bytes = owner->data();
  py::capsule keep(owner.release(), [](void* kept) { delete static_cast<std::vector<std::byte>*>(kept); });
  return py::array(py::dtype(number_of(dtype)), std::move(shape), bytes, keep);
}

}  // namespace runnel::python
