// ESP-IDF's functions that the example calls: the recording is what the I2S peripheral receives.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "driver/i2s_pdm.h"
#include "driver/i2s_std.h"
#include "esp_partition.h"
#include "stand_in.h"

extern "C" void app_main();

namespace {

bool std_mode = false, enabled = false, registered = false;

}  // namespace

extern "C" {

esp_err_t i2s_new_channel(const i2s_chan_config_t*, i2s_chan_handle_t*, i2s_chan_handle_t* receiver) {
  static int one;
  *receiver = reinterpret_cast<i2s_chan_handle_t>(&one);
  return ESP_OK;
}
esp_err_t i2s_channel_init_std_mode(i2s_chan_handle_t, const i2s_std_config_t* config) {
  std_mode = true;
  return config->clk_cfg.sample_rate_hz == 16000 && config->gpio_cfg.din == 6 ? ESP_OK : ESP_FAIL;
}
esp_err_t i2s_channel_init_pdm_rx_mode(i2s_chan_handle_t, const i2s_pdm_rx_config_t*) { return ESP_OK; }
esp_err_t i2s_channel_register_event_callback(i2s_chan_handle_t, const i2s_event_callbacks_t*, void*) {
  registered = !enabled;  // only a channel that does not run yet takes them
  return registered ? ESP_OK : ESP_FAIL;
}
esp_err_t i2s_channel_enable(i2s_chan_handle_t) {
  enabled = true;
  return ESP_OK;
}
esp_err_t i2s_channel_read(i2s_chan_handle_t, void* to, std::size_t size, std::size_t* read, std::uint32_t) {
  if (!enabled) return ESP_FAIL;
  *read = 0;
  const std::size_t bytes = std_mode ? sizeof(std::int32_t) : sizeof(std::int16_t);
  for (; *read < size; *read += bytes) {
    std::int16_t sample = 0;
    if (stand_in_samples(&sample, 1) == 0) return *read > 0 ? ESP_OK : ESP_FAIL;
    if (std_mode)
      static_cast<std::int32_t*>(to)[*read / bytes] = sample * 65536;
    else
      static_cast<std::int16_t*>(to)[*read / bytes] = sample;
  }
  return ESP_OK;
}
// The emulator has put an image there.
const esp_partition_t* esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t,
                                                const char* label) {
  static const esp_partition_t model = {ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, 0x84000000,
                                        0x70000, "model"};
  return type == model.type && std::strcmp(label, model.label) == 0 ? &model : nullptr;
}
esp_err_t esp_partition_mmap(const esp_partition_t* partition, std::size_t offset, std::size_t size,
                             esp_partition_mmap_memory_t, const void** out,
                             esp_partition_mmap_handle_t* handle) {
  if (offset + size > partition->size) return ESP_FAIL;
  *out = reinterpret_cast<const void*>(partition->address + offset);
  *handle = 1;
  return ESP_OK;
}
const char* esp_err_to_name(esp_err_t) { return "ESP_FAIL"; }
void stand_in_main() { app_main(); }

}  // extern "C"
