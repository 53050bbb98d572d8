// Folders for build systems other than CMake: a component of ESP-IDF, a module of Zephyr, a library of
// Arduino or of Mbed OS, a package of npm with a WebAssembly module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/embed/sources.h"

namespace runnel::embedding {

enum class BuildSystem { cmake, esp_idf, zephyr, arduino, mbed, wasm };

// "cmake", "esp-idf", "zephyr", "arduino", "mbed", "wasm"; empty: cmake. Error: invalid_argument, naming all
// of them.
Result<BuildSystem> build_system(std::string_view name);
// What a folder for it is: "a component of ESP-IDF".
std::string_view kind_of(BuildSystem system) noexcept;

// Turns the files of compiler::write_sources() into those of the build system. Arduino and Mbed OS get a copy
// of the device libraries, because they compile the folder alone. An example for a microphone is in it when
// the program takes one channel of int16. Errors: unsupported for parts for an NPU where the copy has no
// driver for them; not_found for a source of runnel that is not where it should be.
Result<std::vector<compiler::EmbeddedFile>> files_for(BuildSystem system,
                                                      const compiler::EmbeddedProgram& program,
                                                      std::vector<compiler::EmbeddedFile> sources);

}  // namespace runnel::embedding
