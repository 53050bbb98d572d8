// In builds without libseccomp.
#include "services/sandbox/seccomp.h"

namespace runnel::sandbox {

Status open_filter() {
  return Status(Code::unsupported,
                "this build has no filter of system calls: configure with RUNNEL_SANDBOX=ON (Debian package "
                "libseccomp-dev)");
}

Status restrict_calls(bool) { return open_filter(); }

std::string name_of_call(int number) { return std::to_string(number); }

}  // namespace runnel::sandbox
