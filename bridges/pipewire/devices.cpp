#include "bridges/pipewire/devices.h"

#include <pipewire/pipewire.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#ifdef __clang__
// PipeWire's macros are statements that have a value.
#pragma clang diagnostic ignored "-Wgnu-statement-expression-from-macro-expansion"
#endif

namespace runnel::pipewire {
namespace {

struct Listing {
  pw_main_loop* loop = nullptr;
  int last = 0;  // number of the call whose answer comes after all nodes
  std::vector<pipeline::CaptureDevice> found;
};

std::string text_of(const spa_dict* properties, const char* key) {
  const char* const text = spa_dict_lookup(properties, key);
  return text == nullptr ? std::string() : std::string(text);
}

void add(void* to, std::uint32_t, std::uint32_t, const char* type, std::uint32_t,
         const spa_dict* properties) {
  if (std::string_view(type) != PW_TYPE_INTERFACE_Node || properties == nullptr) return;
  const std::string media = text_of(properties, PW_KEY_MEDIA_CLASS);
  const bool source = media.starts_with("Audio/Source") || media == "Audio/Duplex";
  if (!source && media != "Audio/Sink" && media != "Stream/Output/Audio") return;
  pipeline::CaptureDevice& device = static_cast<Listing*>(to)->found.emplace_back();
  device.node = "pipewire";
  device.name = text_of(properties, PW_KEY_NODE_NAME);
  device.description = text_of(properties, PW_KEY_NODE_DESCRIPTION);
  if (device.description.empty()) device.description = text_of(properties, PW_KEY_NODE_NICK);
  if (!source) device.description += device.description.empty() ? "what it plays" : " (what it plays)";
}

void done(void* to, std::uint32_t id, int number) {
  auto& listing = *static_cast<Listing*>(to);
  if (id == PW_ID_CORE && number == listing.last) pw_main_loop_quit(listing.loop);
}

void failed(void* to, std::uint32_t, int, int, const char*) {
  pw_main_loop_quit(static_cast<Listing*>(to)->loop);
}

}  // namespace

Result<std::vector<pipeline::CaptureDevice>> list_devices() {
  Listing listing;
  listing.loop = pw_main_loop_new(nullptr);
  pw_context* const context = pw_context_new(pw_main_loop_get_loop(listing.loop), nullptr, 0);
  pw_core* const core = context == nullptr ? nullptr : pw_context_connect(context, nullptr, 0);
  const int error = errno;
  if (core != nullptr) {
    pw_core_events events{};
    events.version = PW_VERSION_CORE_EVENTS;
    events.done = done;
    events.error = failed;
    spa_hook core_hook{}, registry_hook{};
    pw_core_add_listener(core, &core_hook, &events, &listing);
    pw_registry* const registry = pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
    pw_registry_events nodes{};
    nodes.version = PW_VERSION_REGISTRY_EVENTS;
    nodes.global = add;
    pw_registry_add_listener(registry, &registry_hook, &nodes, &listing);
    listing.last = pw_core_sync(core, PW_ID_CORE, 0);
    pw_main_loop_run(listing.loop);
    pw_proxy_destroy(reinterpret_cast<pw_proxy*>(registry));
    pw_core_disconnect(core);
  }
  if (context != nullptr) pw_context_destroy(context);
  pw_main_loop_destroy(listing.loop);
  if (core == nullptr)
    return Status(Code::io_error) << "PipeWire: cannot connect to the daemon: " << std::strerror(error);
  return listing.found;
}

}  // namespace runnel::pipewire
