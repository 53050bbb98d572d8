// The memories of a device as options name them: by a known name, or in a file.
#pragma once

#include <string>

#include "npu/host/cycles/system_file.h"

namespace runnel::apps {

class DeviceMemories {
 public:
  std::string system,
      memory_mode;  // NAME, FILE or FILE:NAME; NAME of a known mode or one of the file; empty: default

  // Sets what is not empty; the pointers live as long as this. Errors: not_found, or the file's with its
  // place.
  Status find(const npu::SystemConfiguration*& found_system, const npu::MemoryMode*& found_mode);

 private:
  npu::SystemFile file_;
  const npu::SystemConfiguration* own_ = nullptr;  // of the file, once it is read
};

}  // namespace runnel::apps
