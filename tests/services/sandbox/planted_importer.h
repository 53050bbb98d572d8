// An importer with bugs, for tests alone: no product links it. The file says which bug it has, as a real one
// would be led to it by the bytes that it reads.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"

namespace runnel::sandbox::test {

// `file` begins with "PLANT ", the name of a bug, a space and what that needs; else it comes back as it is.
// The bugs: outside (reads where nothing is), steal (opens another file and returns it), overwrite (writes
// another file), remove (removes it), connect (a socket to a port of this machine), fork, execute (a
// program), signal (kills another process), trace (looks into another process), memory (without end), loop
// (without end), wait (without end), print (without end), throw (an exception), exit (without a result).
Result<std::vector<std::byte>> import_planted(const std::vector<std::byte>& file);

}  // namespace runnel::sandbox::test
