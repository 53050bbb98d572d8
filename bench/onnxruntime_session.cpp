#include "bench/onnxruntime_session.h"

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace runnel::bench {
namespace {

// The oldest version of the interface that has everything used here.
constexpr std::uint32_t kApi = 14;

const OrtApi* open_library(const std::string& library, std::string& why) {
  static const OrtApi* api = nullptr;
  if (api != nullptr) return api;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    why = dlerror();
    return nullptr;
  }
  using GetBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) {
    why = library + " has no OrtGetApiBase";
    return nullptr;
  }
  api = get_base()->GetApi(kApi);
  if (api == nullptr) why = library + " is too old";
  return api;
}

class Session final : public OnnxRuntimeSession {
 public:
  explicit Session(const OrtApi& api) : api_(api) {}
  ~Session() override {
    for (OrtValue* value : inputs_) api_.ReleaseValue(value);
    for (OrtValue* value : outputs_) {
      if (value != nullptr) api_.ReleaseValue(value);
    }
    if (session_ != nullptr) api_.ReleaseSession(session_);
    if (options_ != nullptr) api_.ReleaseSessionOptions(options_);
    if (env_ != nullptr) api_.ReleaseEnv(env_);
  }
  bool open(const std::string& model, const OnnxRuntimeInputs& open, std::string& why) {
    OrtAllocator* allocator = nullptr;
    std::size_t inputs = 0, outputs = 0;
    const bool ok = good(api_.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &env_), why) &&
                    good(api_.CreateSessionOptions(&options_), why) &&
                    good(api_.SetIntraOpNumThreads(options_, 1), why) &&
                    good(api_.SetInterOpNumThreads(options_, 1), why) &&
                    good(api_.SetSessionGraphOptimizationLevel(options_, ORT_ENABLE_ALL), why) &&
                    good(api_.AddSessionConfigEntry(options_, "session.intra_op.allow_spinning", "0"), why) &&
                    good(api_.CreateSession(env_, model.c_str(), options_, &session_), why) &&
                    good(api_.GetAllocatorWithDefaultOptions(&allocator), why) &&
                    good(api_.SessionGetInputCount(session_, &inputs), why) &&
                    good(api_.SessionGetOutputCount(session_, &outputs), why);
    if (!ok) return false;
    for (std::size_t i = 0; i < inputs; ++i) {
      OrtTypeInfo* type = nullptr;
      char* name = nullptr;
      if (!good(api_.SessionGetInputName(session_, i, allocator, &name), why)) return false;
      input_names_.emplace_back(name);
      if (!good(api_.AllocatorFree(allocator, name), why) ||
          !good(api_.SessionGetInputTypeInfo(session_, i, &type), why) || !add(open, type, why))
        return false;
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      char* name = nullptr;
      if (!good(api_.SessionGetOutputName(session_, i, allocator, &name), why)) return false;
      output_names_.emplace_back(name);
      if (!good(api_.AllocatorFree(allocator, name), why)) return false;
    }
    for (const std::string& name : input_names_) input_pointers_.push_back(name.c_str());
    for (const std::string& name : output_names_) output_pointers_.push_back(name.c_str());
    // The first call creates the outputs; later calls overwrite them.
    outputs_.assign(outputs, nullptr);
    return good(call(), why);
  }
  void run() override {
    std::string ignored;
    good(call(), ignored);
  }
  std::span<std::byte> input(const std::string& name) override {
    const auto at = std::find(input_names_.begin(), input_names_.end(), name);
    if (at == input_names_.end()) return {};
    return data_[static_cast<std::size_t>(at - input_names_.begin())];
  }
  std::span<const std::byte> output(const std::string& name) override {
    const auto at = std::find(output_names_.begin(), output_names_.end(), name);
    if (at == output_names_.end()) return {};
    OrtValue* const value = outputs_[static_cast<std::size_t>(at - output_names_.begin())];
    OrtTensorTypeAndShapeInfo* info = nullptr;
    std::size_t count = 0;
    void* data = nullptr;
    std::string why;
    if (!good(api_.GetTensorTypeAndShape(value, &info), why)) return {};
    const bool ok = good(api_.GetTensorShapeElementCount(info, &count), why) &&
                    good(api_.GetTensorMutableData(value, &data), why);
    api_.ReleaseTensorTypeAndShapeInfo(info);
    if (!ok) return {};
    return {static_cast<const std::byte*>(data), count * sizeof(float)};
  }

 private:
  OrtStatus* call() {
    return api_.Run(session_, nullptr, input_pointers_.data(), inputs_.data(), inputs_.size(),
                    output_pointers_.data(), outputs_.size(), outputs_.data());
  }
  bool good(OrtStatus* status, std::string& why) {
    if (status == nullptr) return true;
    why = api_.GetErrorMessage(status);
    api_.ReleaseStatus(status);
    return false;
  }
  // The next input: zeros, or the value given for it.
  bool add(const OnnxRuntimeInputs& open, OrtTypeInfo* type, std::string& why) {
    const std::string& name = input_names_.back();
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    OrtMemoryInfo* memory = nullptr;
    OrtValue* value = nullptr;
    bool ok = good(api_.CastTypeInfoToTensorInfo(type, &info), why) &&
              good(api_.GetTensorElementType(info, &element), why) &&
              good(api_.GetDimensionsCount(info, &rank), why);
    std::vector<std::int64_t> shape(rank);
    ok = ok && good(api_.GetDimensions(info, shape.data(), rank), why);
    api_.ReleaseTypeInfo(type);
    if (!ok) return false;
    if (const auto given = open.shapes.find(name); given != open.shapes.end()) shape = given->second;
    std::size_t bytes = element == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT   ? 4
                        : element == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 ? 8
                                                                         : 1;
    for (std::int64_t& size : shape) {
      if (size < 0) size = 1;
      bytes *= static_cast<std::size_t>(size);
    }
    std::vector<std::byte>& data = data_.emplace_back(bytes);
    if (const auto given = open.values.find(name); given != open.values.end() && bytes == 8)
      std::memcpy(data.data(), &given->second, 8);
    ok = good(api_.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory), why) &&
         good(api_.CreateTensorWithDataAsOrtValue(memory, data.data(), bytes, shape.data(), shape.size(),
                                                  element, &value),
              why);
    if (memory != nullptr) api_.ReleaseMemoryInfo(memory);
    if (ok) inputs_.push_back(value);
    return ok;
  }

  const OrtApi& api_;
  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
  OrtSession* session_ = nullptr;
  std::vector<std::string> input_names_, output_names_;
  std::vector<const char*> input_pointers_, output_pointers_;
  std::vector<OrtValue*> inputs_, outputs_;
  std::vector<std::vector<std::byte>> data_;
};

}  // namespace

std::unique_ptr<OnnxRuntimeSession> onnxruntime_session(const std::string& library, const std::string& model,
                                                        std::string& why, const OnnxRuntimeInputs& inputs) {
  const OrtApi* api = open_library(library, why);
  if (api == nullptr) return nullptr;
  auto session = std::make_unique<Session>(*api);
  if (!session->open(model, inputs, why)) return nullptr;
  return session;
}

}  // namespace runnel::bench
