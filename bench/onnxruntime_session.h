// A model in ONNX Runtime, through the C API of a shared library chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace runnel::bench {

// Open dimensions and values of a model, by the name of the input.
struct OnnxRuntimeInputs {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, std::int64_t> values;  // of inputs of int64
};

class OnnxRuntimeSession {
 public:
  virtual ~OnnxRuntimeSession() = default;
  // One call over preallocated inputs (zeros, unless filled) and outputs. State is in ordinary tensors and
  // is not copied.
  virtual void run() = 0;
  // Bytes of an input or output; empty when there is none of that name. Valid as long as the session.
  virtual std::span<std::byte> input(const std::string& name) = 0;
  virtual std::span<const std::byte> output(const std::string& name) = 0;
};

// `library`: path of libonnxruntime.so. One thread, no spinning, all optimisations. Null on failure, with a
// sentence in `why`.
std::unique_ptr<OnnxRuntimeSession> onnxruntime_session(const std::string& library, const std::string& model,
                                                        std::string& why,
                                                        const OnnxRuntimeInputs& inputs = {});

}  // namespace runnel::bench
