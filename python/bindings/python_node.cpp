#include "python/bindings/python_node.h"

#include <algorithm>
#include <utility>

#include "python/bindings/arrays.h"
#include "python/bindings/errors.h"

namespace runnel::python {

namespace py = pybind11;
using pipeline::Kind;

namespace {

thread_local std::shared_ptr<PythonNodes> building;

constexpr pipeline::Parameter kPythonParameters[] = {
    pipeline::text_parameter<&PythonNode::function>("function", "", "name of the function", true),
};

}  // namespace

void PythonNodes::keep(std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (!thrown_) thrown_ = std::move(thrown);
}

void PythonNodes::rethrow() {
  std::exception_ptr thrown;
  {
    const std::lock_guard lock(mutex_);
    std::swap(thrown, thrown_);
  }
  if (thrown) std::rethrow_exception(thrown);
}

PythonNode::Building::Building(std::shared_ptr<PythonNodes> nodes) { building = std::move(nodes); }
PythonNode::Building::~Building() { building.reset(); }

const pipeline::NodeType PythonNode::type = {
    .name = "python",
    .help = "A function in Python, for experiments.",
    .input = {Kind::audio | Kind::frames, "float32"},
    .output = {Kind::audio | Kind::frames, "float32"},
    .parameters = kPythonParameters,
    .make = pipeline::make_node<PythonNode>,
};

PythonNode::~PythonNode() {
  if (!function_) return;
  const py::gil_scoped_acquire lock;
  function_ = {};
  nodes_.reset();
}

template <class Work>
Status PythonNode::guarded(const Work& work) noexcept {
  const py::gil_scoped_acquire lock;
  try {
    work();
    return {};
  } catch (const Failure& failure) {
    return failure.status();
  } catch (...) {
    nodes_->keep(std::current_exception());
    return Status(Code::invalid_argument) << "the function " << function << " has thrown";
  }
}

py::object PythonNode::call(const float* frames, std::int64_t count) {
  // The function gets a copy: it may keep it, and the buffers of a graph are used again.
  const py::object in =
      copy_of(DType::float32, count, in_values_, reinterpret_cast<const std::byte*>(frames));
  return function_(in);
}

Status PythonNode::prepare(pipeline::NodeContext& context) noexcept {
  if (context.input.dtype != DType::float32)
    return Status(Code::mismatch) << context.input_label << " gives "
                                  << pipeline::describe(context.input).view() << ", " << context.label
                                  << " wants float32";
  in_values_ = context.input.channels;
  nodes_ = building;
  const Status status = guarded([&] {
    const auto found = nodes_->functions.find(std::string(function));
    if (found == nodes_->functions.end())
      throw Failure(Status(Code::not_found) << "there is no function " << function);
    function_ = found->second;
    const py::object out = call(nullptr, 0);
    const py::array array = py::array::ensure(out);
    if (!array || array.ndim() != 2 || array.shape(0) != 0 || array.shape(1) < 1) {
      PyErr_Clear();
      throw Failure(Status(Code::invalid_argument)
                    << "the function " << function << " was given an array [0, " << in_values_
                    << "], expected an array [0, values] from it");
    }
    out_values_ = array.shape(1);
  });
  context.output.channels = static_cast<std::int32_t>(out_values_);
  context.output.labels = {};
  context.max_output = context.max_input;
  return status;
}

std::int64_t PythonNode::reset(std::int64_t first) noexcept {
  // A failure shows in the next call.
  static_cast<void>(guarded([&] {
    if (py::hasattr(function_, "reset")) function_.attr("reset")();
  }));
  return first;
}

Status PythonNode::process(const pipeline::Block& in, pipeline::Output& out) noexcept {
  return guarded([&] {
    const py::object given = call(in.as<float>(), in.count);
    const FramesArray frames = frames_of(given, "what the function " + std::string(function) + " gives",
                                         DType::float32, out_values_);
    if (frames.count != in.count)
      throw Failure(Status(Code::mismatch) << "the function " << function << " gives " << frames.count
                                           << " frames for " << in.count << ", expected as many");
    std::copy_n(reinterpret_cast<const float*>(frames.data), in.count * out_values_, out.as<float>());
    out.count = in.count;
    out.first = in.first;
  });
}

}  // namespace runnel::python
