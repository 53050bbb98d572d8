// Completion of verbs, options, their values and names of models, for three shells.
#pragma once

#include <string>

#include "apps/manual/table.h"

namespace runnel::apps {

std::string bash_completion(const VerbFacts& program);
std::string zsh_completion(const VerbFacts& program);
std::string fish_completion(const VerbFacts& program);

}  // namespace runnel::apps
