// What is known of a model before it runs, as JSON.
#pragma once

#include <string>

#include "inference/host/describe.h"
#include "inference/model/usage.h"

namespace runnel::describe {

// One line without newline: the members are those of `runnel inspect --json` (docs/commands.md). `frame_ms`:
// length of a source frame in milliseconds, 0 where it is unknown.
std::string model_json(const ModelDescription& about, const Model& model, double frame_ms);

// Length of a source frame in milliseconds, from the model's own front end; 0: unknown.
double frame_milliseconds(const Model& model);

// Multiply-adds for each new frame: of a stream, or of runs that take several of them.
double frame_macs(const ModelDescription& about, const ModelUsage& usage);

}  // namespace runnel::describe
