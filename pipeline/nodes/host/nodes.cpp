#include "pipeline/nodes/host/nodes.h"

#include <vector>

#ifdef RUNNEL_HAVE_ALSA
#include "pipeline/nodes/host/alsa.h"
#include "pipeline/nodes/host/alsa_sink.h"
#endif
#include "pipeline/nodes/host/command.h"
#include "pipeline/nodes/host/csv_source.h"
#include "pipeline/nodes/host/history.h"
#include "pipeline/nodes/host/iio.h"
#include "pipeline/nodes/host/jsonl.h"
#include "pipeline/nodes/host/live_infer.h"
#ifdef RUNNEL_HAVE_MQTT
#include "pipeline/nodes/host/mqtt.h"
#endif
#include "pipeline/nodes/host/npy.h"
#include "pipeline/nodes/host/npy_source.h"
#include "pipeline/nodes/host/png.h"
#include "pipeline/nodes/host/record.h"
#include "pipeline/nodes/host/send.h"
#include "pipeline/nodes/host/sensor.h"
#include "pipeline/nodes/host/stdin_source.h"
#include "pipeline/nodes/host/tcp_source.h"
#include "pipeline/nodes/host/watch.h"
#include "pipeline/nodes/host/wav_sink.h"
#include "pipeline/nodes/host/wav_source.h"
#include "pipeline/nodes/nodes.h"

namespace runnel::pipeline {

NodeTable host_nodes() noexcept {
  static const std::vector<const NodeType*> nodes = [] {
    std::vector<const NodeType*> all = {&WavSource::type,   &CsvSource::type, &NpySource::type,
                                        &StdinSource::type, &TcpSource::type, &Sensor::type,
                                        &Iio::type};
#ifdef RUNNEL_HAVE_ALSA
    all.push_back(&Alsa::type);
#endif
    const NodeTable device = device_nodes();
    for (const NodeType* type : device) all.push_back(type == &Infer::type ? &LiveInfer::type : type);
    all.insert(all.end(), {&History::type, &WavSink::type, &Npy::type, &Png::type, &Jsonl::type,
                           &Record::type, &Command::type, &Send::type, &Watch::type});
#ifdef RUNNEL_HAVE_ALSA
    all.push_back(&AlsaSink::type);
#endif
#ifdef RUNNEL_HAVE_MQTT
    all.push_back(&Mqtt::type);
#endif
    return all;
  }();
  return nodes;
}

}  // namespace runnel::pipeline
