// Calls as people write them: `runnel help listen`, and what helps where a call is wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/manual/table.h"

namespace runnel::apps {

// The arguments after the program's name in their usual form: `help`, `help VERB...`, `VERB help` become
// --help; `version` becomes --version.
std::vector<std::string> usual_form(std::vector<std::string> arguments);

// Whether the name is that of a recording, by its ending.
bool is_recording_name(std::string_view name);

// What is wrong with arguments that the verb does not know, and what may have been meant.
std::string unexpected(const VerbFacts& verb, std::span<const std::string> arguments);

}  // namespace runnel::apps
