// The sources of the device libraries as one folder of files, for build systems that compile folders.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/embed/sources.h"

namespace runnel::embedding {

// All that a program for a microcontroller may link, with every header that it or `program`, its own files,
// includes, among them generated ones and FlatBuffers'; paths are those that the sources include. `runnel`:
// the source tree. Each source states for itself what the flags of a build state elsewhere: no contraction of
// floating-point operations, and for which processor it is. Error: not_found, naming the file that is
// missing.
Result<std::vector<compiler::EmbeddedFile>> device_copy(const std::string& runnel,
                                                        const std::vector<compiler::EmbeddedFile>& program);

}  // namespace runnel::embedding
