// A filter of system calls, by libseccomp (RUNNEL_SANDBOX). A build without it has the same functions.
#pragma once

#include <string>

#include "base/status.h"

namespace runnel::sandbox {

// Opens the library, which needs files: called before restrict_calls(). Error: not_found, unsupported.
Status open_filter();

// From here on this thread and those that it starts can compute, take memory and threads, read and write what
// is open, and end. Opening a file to read is refused with EACCES, or allowed with `may_open` (where Landlock
// says which); any other call raises SIGSYS. Needs no_new_privs. Errors: those of open_filter(), io_error.
Status restrict_calls(bool may_open);

// "openat", or the number where it is unknown.
std::string name_of_call(int number);

}  // namespace runnel::sandbox
