// System files: memories of a board of one's own, in the form that Arm's compiler reads (vela.ini).
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "npu/host/cycles/memory_system.h"

namespace runnel::npu {

// Sections [System_Config.NAME] and [Memory_Mode.NAME]. What find_ returns points into this and lives as
// long.
class SystemFile {
 public:
  SystemFile() = default;
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;

  // Adds the sections of a text. Errors: invalid_data with the line, what was expected and what was found.
  Status read(std::string_view text);
  // The configuration of that name; without a name the only one. Errors: not_found listing the names.
  [[nodiscard]] Result<const SystemConfiguration*> find_system(std::string_view name) const;
  // Null: no such section here.
  [[nodiscard]] const MemoryMode* find_mode(std::string_view name) const;

 private:
  std::deque<std::string> names_;
  std::deque<SystemConfiguration> systems_;
  std::deque<MemoryMode> modes_;
};

}  // namespace runnel::npu
