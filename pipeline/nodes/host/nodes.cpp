#include "pipeline/nodes/host/nodes.h"

#include <vector>

#ifdef RUNNEL_HAVE_ALSA
#include "pipeline/nodes/host/live/alsa.h"
#include "pipeline/nodes/host/live/alsa_sink.h"
#endif
#ifdef RUNNEL_HAVE_PORTAUDIO
#include "pipeline/nodes/host/live/portaudio.h"
#include "pipeline/nodes/host/live/portaudio_sink.h"
#endif
#include "pipeline/nodes/host/act/command.h"
#include "pipeline/nodes/host/act/history.h"
#include "pipeline/nodes/host/decode/host_ctc.h"
#include "pipeline/nodes/host/decode/host_transducer.h"
#include "pipeline/nodes/host/file/jsonl.h"
#include "pipeline/nodes/host/live/browser/browser.h"
#include "pipeline/nodes/host/live/gst.h"
#include "pipeline/nodes/host/live/iio.h"
#include "pipeline/nodes/host/live/pipewire.h"
#include "pipeline/nodes/host/live/pipewire_sink.h"
#include "pipeline/nodes/host/model/live_infer.h"
#include "pipeline/nodes/host/table/csv_source.h"
#ifdef RUNNEL_HAVE_MQTT
#include "pipeline/nodes/host/act/mqtt.h"
#endif
#include "pipeline/nodes/host/act/record.h"
#include "pipeline/nodes/host/act/send.h"
#include "pipeline/nodes/host/act/watch.h"
#include "pipeline/nodes/host/file/npy.h"
#include "pipeline/nodes/host/file/npy_source.h"
#include "pipeline/nodes/host/file/png.h"
#include "pipeline/nodes/host/file/wav_sink.h"
#include "pipeline/nodes/host/file/wav_source.h"
#include "pipeline/nodes/host/live/stdin_source.h"
#include "pipeline/nodes/host/live/tcp_source.h"
#include "pipeline/nodes/host/table/sensor.h"
#include "pipeline/nodes/nodes.h"

namespace runnel::pipeline {

NodeTable host_nodes() noexcept {
  static const std::vector<const NodeType*> nodes = [] {
    std::vector<const NodeType*> all = {
        &WavSource::type, &CsvSource::type, &NpySource::type, &StdinSource::type, &TcpSource::type,
        &Sensor::type,    &Iio::type,       &Gst::type,       &PipeWire::type,    &Browser::type};
#ifdef RUNNEL_HAVE_ALSA
    all.push_back(&Alsa::type);
#endif
#ifdef RUNNEL_HAVE_PORTAUDIO
    all.push_back(&PortAudio::type);
#endif
    const NodeTable device = device_nodes();
    // Where a host can do more than a device, another class has the name.
    const auto on_host = [](const NodeType* type) {
      if (type == &Infer::type) return &LiveInfer::type;
      if (type == &Ctc::type) return &HostCtc::type;
      return type == &Transducer::type ? &HostTransducer::type : type;
    };
    for (const NodeType* type : device) all.push_back(on_host(type));
    all.insert(all.end(), {&History::type, &WavSink::type, &Npy::type, &Png::type, &Jsonl::type,
                           &Record::type, &Command::type, &Send::type, &Watch::type});
#ifdef RUNNEL_HAVE_ALSA
    all.push_back(&AlsaSink::type);
#endif
#ifdef RUNNEL_HAVE_PORTAUDIO
    all.push_back(&PortAudioSink::type);
#endif
    all.push_back(&PipeWireSink::type);
#ifdef RUNNEL_HAVE_MQTT
    all.push_back(&Mqtt::type);
#endif
    return all;
  }();
  return nodes;
}

}  // namespace runnel::pipeline
