// Adds `watch` nodes to any graph.
#pragma once

#include <string_view>

#include "pipeline/host/text.h"
#include "pipeline/node.h"

namespace runnel::page {

// Values of Watch::what.
inline constexpr std::string_view kWatchedSource = "source", kWatchedModel = "model",
                                  kWatchedEvents = "events";

// Puts a `watch` after the (first) source, every model and every source of events, before all other readers.
// Unknown types of nodes are left for Graph to refuse.
void add_watches(pipeline::GraphText& graph, pipeline::NodeTable nodes);

}  // namespace runnel::page
