/* As Zephyr's documentation describes it; only what a sample needs. */
#pragma once

#include "zephyr/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pdm_lr { PDM_CHAN_LEFT, PDM_CHAN_RIGHT };
enum dmic_trigger_command {
  DMIC_TRIGGER_STOP,
  DMIC_TRIGGER_START,
  DMIC_TRIGGER_PAUSE,
  DMIC_TRIGGER_RELEASE,
  DMIC_TRIGGER_RESET
};
struct pdm_io_cfg {
  uint32_t min_pdm_clk_freq, max_pdm_clk_freq;
  uint8_t min_pdm_clk_dc, max_pdm_clk_dc;
  uint8_t pdm_clk_pol, pdm_data_pol;
  uint32_t pdm_clk_skew;
};
struct pcm_stream_cfg {
  uint32_t pcm_rate;
  uint8_t pcm_width;
  uint16_t block_size;
  struct k_mem_slab* mem_slab;
};
struct pdm_chan_cfg {
  uint32_t req_chan_map_lo, req_chan_map_hi, act_chan_map_lo, act_chan_map_hi;
  uint8_t req_num_chan, act_num_chan, req_num_streams, act_num_streams;
};
struct dmic_cfg {
  struct pdm_io_cfg io;
  struct pcm_stream_cfg* streams;
  struct pdm_chan_cfg channel;
};
static inline uint32_t dmic_build_channel_map(uint8_t channel, uint8_t pdm, enum pdm_lr side) {
  return ((uint32_t)((pdm & 7u) << 1) | (uint32_t)side) << (channel * 4u);
}
int dmic_configure(const struct device* microphone, struct dmic_cfg* config);
int dmic_trigger(const struct device* microphone, enum dmic_trigger_command command);
int dmic_read(const struct device* microphone, uint8_t stream, void** block, uint32_t* bytes,
              int32_t milliseconds);

#ifdef __cplusplus
}
#endif
