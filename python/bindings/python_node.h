// A node of a graph whose arithmetic is a function in Python, for experiments.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "pipeline/node.h"

namespace runnel::python {

// The functions of one graph, by the name of their node in its text, and the first exception of one of them.
struct PythonNodes {
  std::map<std::string, pybind11::object> functions;
  // An exception cannot pass through a graph: it waits here until the run has failed.
  void keep(std::exception_ptr thrown);
  void rethrow();

 private:
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

// `python function=NAME`: frames or samples in, as many frames out. The function is called with an array
// float32 [frames, values] and returns one with as many rows; once while the graph is built, without rows,
// which gives the number of columns. An attribute `reset` of the function is called at the start and after a
// gap.
class PythonNode final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;
  // While it lives, graphs that this thread builds find their functions here.
  class Building {
   public:
    explicit Building(std::shared_ptr<PythonNodes> nodes);
    ~Building();
    Building(const Building&) = delete;
    Building& operator=(const Building&) = delete;
  };

  std::string_view function;

  ~PythonNode() override;
  Status prepare(pipeline::NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;

 private:
  // Needs the interpreter's lock. Throws what Python throws, and Failure.
  pybind11::object call(const float* frames, std::int64_t count);
  template <class Work>
  Status guarded(const Work& work) noexcept;

  std::shared_ptr<PythonNodes> nodes_;
  pybind11::object function_;
  std::int64_t in_values_ = 0, out_values_ = 0;
};

}  // namespace runnel::python
