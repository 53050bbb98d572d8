// Graphs on one thread and on several, in turn.
#pragma once

#include <string>
#include <vector>

#include "bench/interleaved.h"

namespace runnel::bench {

// Adds the cases NAME/1 and NAME/`threads` of each graph that listens with the model of the digits, per
// second of sound, and returns their names. The first one is no graph on several threads, but as many graphs
// that share nothing, in turn and each in a thread of its own: what the cores allow at this moment. Before
// anything is timed, the events of one thread and of several are compared. Ends the program when a graph
// cannot be built.
std::vector<std::string> add_threaded_graphs(const std::string& model, int threads, Interleaved& cases);

}  // namespace runnel::bench
