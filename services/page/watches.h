// Where to look at a graph that was not written to be looked at.
#pragma once

#include <string_view>

#include "pipeline/host/text.h"
#include "pipeline/node.h"

namespace runnel::page {

// Values of Watch::what.
inline constexpr std::string_view kWatchedSource = "source", kWatchedModel = "model",
                                  kWatchedEvents = "events";

// Puts a `watch` after the (first) source, every model and everything that gives events, before
// all else that reads them. Unknown types of nodes are left for Graph to refuse.
void add_watches(pipeline::GraphText& graph, pipeline::NodeTable nodes);

}  // namespace runnel::page
