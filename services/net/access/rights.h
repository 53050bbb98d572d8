// Giving up the rights of root, once what needs them is done.
#pragma once

#include <string>

#include "base/status.h"

namespace runnel::net {

// All threads of the program become this user with its groups, and can never become another one again.
// Errors: not_found for an unknown user; invalid_argument for root itself, or when another user than root
// asks; io_error when the system refuses, or when the rights are there afterwards.
Status become_user(const std::string& name);

}  // namespace runnel::net
