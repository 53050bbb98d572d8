// A model in ONNX Runtime, through its C API, from a shared library given at run time.
#pragma once

#include <memory>
#include <string>

namespace runnel::bench {

class OnnxRuntimeSession {
 public:
  virtual ~OnnxRuntimeSession() = default;
  // One call over preallocated inputs (zeros) and outputs. State goes in and out as ordinary tensors; nobody copies it.
  virtual void run() = 0;
};

// `library`: path of libonnxruntime.so. One thread, no spinning, all optimisations. Null with a sentence in `why` when something fails.
std::unique_ptr<OnnxRuntimeSession> onnxruntime_session(const std::string& library, const std::string& model, std::string& why);

}  // namespace runnel::bench
