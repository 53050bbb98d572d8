#include "apps/npu/npu_device.h"

#include <filesystem>

#include "base/host/small_file.h"

namespace runnel::apps {

Status DeviceMemories::find(const npu::SystemConfiguration*& found_system,
                            const npu::MemoryMode*& found_mode) {
  if (own_ != nullptr) {
    found_system = own_;
  } else if (!system.empty()) {
    auto known = npu::find_system(system);
    if (known.ok()) {
      found_system = *known;
    } else {
      std::string path = system, name;
      const std::size_t colon = system.rfind(':');
      if (!std::filesystem::exists(path) && colon != std::string::npos) {
        path = system.substr(0, colon);
        name = system.substr(colon + 1);
      }
      if (!std::filesystem::exists(path)) return known.status();
      RUNNEL_ASSIGN(const std::string text, read_small_file(path));
      if (const Status status = file_.read(text); !status.ok()) return status.at(path);
      const auto own = file_.find_system(name);
      if (!own.ok()) return own.status().at(path);
      found_system = own_ = *own;
    }
  }
  if (memory_mode.empty()) return {};
  found_mode = file_.find_mode(memory_mode);
  if (found_mode != nullptr) return {};
  RUNNEL_ASSIGN(found_mode, npu::find_memory_mode(memory_mode));
  return {};
}

}  // namespace runnel::apps
