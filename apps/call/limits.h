// The limits of base/limits.h for people: `runnel help limits`, and the table of docs/security.md.
#pragma once

#include <string>

namespace runnel::apps {

// A heading for each group, a line for each limit: its value with its unit, and what it is of.
std::string limits_text();

}  // namespace runnel::apps
