// A node of a graph's text as C++: its class and all its parameters.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "compiler/embed/sources.h"
#include "pipeline/host/text.h"
#include "services/embed/speech.h"

namespace runnel::embedding {

// The node at `index` of the chain. `model`: the name of the inference's model in the program; `speech`: what
// take_speech() made of this node. `constant`: filter banks are constants and steps that the compiler chose
// for them; otherwise they are made in memory while preparing, for the vectors of the machine. Errors:
// unsupported for a node that devices do not have; those of its parameters.
Result<compiler::EmbeddedNode> node_source(const pipeline::NodeText& text, std::size_t index,
                                           const std::string& model, const EmbeddedSpeech& speech,
                                           bool constant = true);

// The name of the constants of the decision at `index`.
std::string decision_name(std::size_t index);
// Turns the node at `index` into a decision whose settings are `facts`: C++ that defines decision_name().
void decision_in_rom(const std::string& facts, std::size_t index, compiler::EmbeddedNode& node);

}  // namespace runnel::embedding
