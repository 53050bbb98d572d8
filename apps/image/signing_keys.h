// A pair of keys for signatures of models.
#pragma once

#include <string>

#include "base/status.h"

namespace runnel::apps {

// Makes OUTPUT.key, which only its owner can read, and OUTPUT.pub, and prints the public key as C. Errors:
// invalid_argument where one of the files is there already; those of writing and of crypto::sign().
Status make_signing_keys(const std::string& output);

}  // namespace runnel::apps
