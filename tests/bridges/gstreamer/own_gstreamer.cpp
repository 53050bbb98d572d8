#include "tests/bridges/gstreamer/own_gstreamer.h"

#include <cstdlib>
#include <filesystem>

#include "tests/support/data.h"

namespace runnel::bridges::test {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPlugins[] = {
    "coreelements", "app",  "audioconvert", "audioresample", "audiotestsrc", "audiomixer",        "level",
    "ogg",          "opus", "playback",     "rawparse",      "subparse",     "typefindfunctions", "wavenc",
    "wavparse"};

std::string file_of(const std::string& plugin) { return "libgst" + plugin + ".so"; }

}  // namespace

std::vector<std::string> missing_plugins() {
  std::vector<std::string> missing;
  for (const std::string plugin : kPlugins) {
    if (!fs::exists(fs::path(RUNNEL_GSTREAMER_PLUGINS) / file_of(plugin))) missing.push_back(plugin);
  }
  return missing;
}

void use_own_gstreamer() {
  static const runnel::test::TemporaryFolder folder;
  const fs::path plugins = folder.path() / "plugins";
  fs::create_directories(plugins);
  for (const std::string plugin : kPlugins) {
    const fs::path from = fs::path(RUNNEL_GSTREAMER_PLUGINS) / file_of(plugin);
    if (fs::exists(from)) fs::create_symlink(from, plugins / file_of(plugin));
  }
  const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  set("GST_PLUGIN_SYSTEM_PATH_1_0", plugins.string());
  set("GST_PLUGIN_PATH_1_0", RUNNEL_BUILD_FOLDER "/lib/gstreamer-1.0");
  set("GST_REGISTRY_1_0", (folder.path() / "registry.bin").string());
  // Plugins are looked at in this process: faster, and sanitizers see it.
  set("GST_REGISTRY_FORK", "no");
  set("RUNNEL_MODEL_PATH", RUNNEL_BUILD_FOLDER "/models");
  unsetenv("GST_DEBUG");
}

}  // namespace runnel::bridges::test
