// Texts of graphs that lie in a model file: whoever made the file wrote them, so they are not code.
#pragma once

#include <string_view>

#include "base/status.h"

namespace runnel::pipeline {

// Whether the text has only nodes that compute: those that devices have, too. Nodes that write files, start
// programs, or reach devices and networks are refused, whatever the text is otherwise: the user may give the
// same text, a file may not. Text that is not a graph passes; whoever builds it says what is wrong. `what`:
// "front end" or "decision". Error: unsupported, naming the node.
Status check_stored_text(std::string_view text, std::string_view what);

}  // namespace runnel::pipeline
