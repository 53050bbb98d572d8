// How nodes get models by name without knowing formats: the application injects what can read files.
#pragma once

#include <string_view>

#include "base/status.h"
#include "inference/model/model.h"

namespace runnel {

class ModelLoader {
 public:
  // The verified model after `name` (a path, or a name in ROM). Owned by the loader, valid as long as it.
  virtual Result<const Model*> load(std::string_view name) noexcept = 0;

 protected:
  ~ModelLoader() = default;
};

}  // namespace runnel
