// alsa-lib, opened when a device is first asked for.
#pragma once

#include <alloca.h>
#include <alsa/asoundlib.h>

#include <cstring>

#include "base/host/late_library.h"

namespace runnel::pipeline {

// clang-format off
#define RUNNEL_ALSA(F) \
  F(snd_device_name_free_hint) F(snd_device_name_get_hint) F(snd_device_name_hint) \
  F(snd_lib_error_set_handler) F(snd_pcm_avail_update) F(snd_pcm_close) F(snd_pcm_drain) F(snd_pcm_drop) \
  F(snd_pcm_htimestamp) F(snd_pcm_hw_params) F(snd_pcm_hw_params_any) \
  F(snd_pcm_hw_params_get_channels_max) F(snd_pcm_hw_params_get_channels_min) \
  F(snd_pcm_hw_params_get_rate_max) F(snd_pcm_hw_params_get_rate_min) F(snd_pcm_hw_params_set_access) \
  F(snd_pcm_hw_params_set_buffer_size_near) F(snd_pcm_hw_params_set_channels_near) \
  F(snd_pcm_hw_params_set_format) F(snd_pcm_hw_params_set_period_size_near) \
  F(snd_pcm_hw_params_set_rate_near) F(snd_pcm_hw_params_sizeof) F(snd_pcm_hw_params_test_format) \
  F(snd_pcm_mmap_readi) F(snd_pcm_open) F(snd_pcm_prepare) F(snd_pcm_readi) F(snd_pcm_start) \
  F(snd_pcm_state) F(snd_pcm_status) F(snd_pcm_status_get_trigger_htstamp) F(snd_pcm_status_sizeof) \
  F(snd_pcm_sw_params) F(snd_pcm_sw_params_current) F(snd_pcm_sw_params_set_avail_min) \
  F(snd_pcm_sw_params_set_start_threshold) F(snd_pcm_sw_params_set_tstamp_mode) \
  F(snd_pcm_sw_params_set_tstamp_type) F(snd_pcm_sw_params_sizeof) F(snd_pcm_wait) F(snd_pcm_writei) \
  F(snd_strerror)
// clang-format on
struct AlsaLibrary {
  static const char* const kFile;
  static constexpr const char* kPurpose = "sound devices";
  RUNNEL_LATE_FUNCTIONS(RUNNEL_ALSA)
};

// Call once late<AlsaLibrary>() has succeeded: whoever opens a device has asked.
inline const AlsaLibrary& alsa() noexcept { return *late<AlsaLibrary>(); }

// What alsa-lib's own macros do, such as snd_pcm_status_alloca().
#define RUNNEL_ALSA_ALLOCA(type, pointer)                                \
  do {                                                                   \
    (pointer) = static_cast<type##_t*>(alloca(alsa().type##_sizeof()));  \
    std::memset(static_cast<void*>(pointer), 0, alsa().type##_sizeof()); \
  } while (false)

}  // namespace runnel::pipeline
