// Zephyr's functions that the sample calls: the recording is what the microphone's driver receives.
#include <cstddef>
#include <cstdint>

#include "stand_in.h"
#include "zephyr/audio/dmic.h"
#include "zephyr/kernel.h"

extern "C" int zephyr_main();

namespace {

dmic_cfg configured;
pcm_stream_cfg stream;
bool started = false;

}  // namespace

extern "C" {

const device zephyr_stand_in_microphone = {"dmic"};

bool device_is_ready(const device* one) { return one == &zephyr_stand_in_microphone; }
int dmic_configure(const device*, dmic_cfg* config) {
  configured = *config;
  stream = *config->streams;
  const bool good = stream.pcm_rate == 16000 && stream.pcm_width == 16 &&
                    stream.block_size <= stream.mem_slab->bytes && config->channel.req_num_chan == 1;
  return good ? 0 : -EINVAL;
}
int dmic_trigger(const device*, dmic_trigger_command command) {
  started = command == DMIC_TRIGGER_START;
  return 0;
}
int dmic_read(const device*, std::uint8_t, void** block, std::uint32_t* bytes, std::int32_t) {
  if (!started) return -EIO;
  if (stream.mem_slab->used == stream.mem_slab->blocks) return -ENOMEM;
  char* const at = stream.mem_slab->memory;  // one block at a time is out
  const int samples = stream.block_size / 2;
  const int read = stand_in_samples(reinterpret_cast<std::int16_t*>(at), samples);
  if (read == 0) return -EAGAIN;
  ++stream.mem_slab->used;
  *block = at;
  *bytes = static_cast<std::uint32_t>(read) * 2;
  return 0;
}
void k_mem_slab_free(k_mem_slab* slab, void*) { --slab->used; }
void stand_in_main() { zephyr_main(); }

}  // extern "C"
