// A GStreamer of the test's own: a registry in a temporary folder that knows only the plugins that tests use,
// so that neither this machine's registry nor its other plugins matter.
#pragma once

#include <string>
#include <vector>

namespace runnel::bridges::test {

// Sets the environment of this process and its children; once, before gst_init().
void use_own_gstreamer();
// Of the plugins that the page and the tests use, those that this machine lacks ("opus").
std::vector<std::string> missing_plugins();

}  // namespace runnel::bridges::test
