// Slices of streaming files that cut off a warm-up which their caches already provide.
#pragma once

#include <set>
#include <string>

#include "base/status.h"
#include "compiler/espdl/source.h"

namespace runnel::compiler::espdl_source {

// Offline, a residual branch beside windows without padding is cut by the frames that the windows consume:
// f(x) + x[6:]. In a streaming file the windows read their past from caches and consume nothing, but the
// exporter leaves the slice as it was, so that each call would lose its first frames (ESP-DL then adds
// tensors of different lengths and reads after the end of the shorter one).
//
// The names of the outputs of slices that cut exactly as many leading frames as the caches of every other
// branch at the next join hold: there both branches are the stream itself, and the slice is to be left out.
// Empty when the model has no caches, or when some crop does not fit: then no slice is touched.
std::set<std::string> warm_up_crops(const Model& model);

}  // namespace runnel::compiler::espdl_source
