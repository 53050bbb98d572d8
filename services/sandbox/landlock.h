// Landlock: a process gives up files and TCP connections, without rights of its own. By system calls, as the
// C library has no functions for it and headers of the kernel are often older than the kernel.
#pragma once

#include <filesystem>
#include <span>

namespace runnel::sandbox {

// The version of Landlock's interface that this kernel has; 0: none.
int landlock_version() noexcept;

// This process can open no file but `readable`, and no TCP connection where the version is 4 or later. Gives
// whether it is so; nothing has changed if not.
bool restrict_files(std::span<const std::filesystem::path> readable) noexcept;

}  // namespace runnel::sandbox
