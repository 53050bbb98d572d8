#include "bridges/gstreamer/element.h"

#include <gst/audio/audio.h>
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <new>
#include <string>

#include "bridges/gstreamer/structures.h"
#include "bridges/gstreamer/text_pad.h"
#include "bridges/gstreamer/worker.h"

namespace {

using runnel::gstreamer::Settings;
using runnel::gstreamer::TextPad;
using runnel::gstreamer::Worker;

}  // namespace

// As GObject wants them: structures of C. The worker is made and destroyed with the instance.
struct GstRunnel {
  GstBaseTransform base;
  Worker* worker;
};
struct GstRunnelClass {
  GstBaseTransformClass base;
};

G_DEFINE_TYPE(GstRunnel, gst_runnel, GST_TYPE_BASE_TRANSFORM)

namespace {

enum Property : guint {
  kNone,
  kModel,
  kGraph,
  kFrontEnd,
  kDecision,
  kThreshold,
  kChunk,
  kOnGap,
  kTolerance,
  kAnyRate,
  kSource,
  kKeyFile,
  kPostMessages,
  kDelay,
  kEvents,
  kLostSamples,
};

constexpr int kLargestRate = 768000;
constexpr int kMostChannels = 1024;

GType on_gap_type() {
  static const GType type = [] {
    static const GEnumValue values[] = {
        {0, "flush the stream, and begin anew after the gap", "reset"},
        {1, "silence of the exact length", "zeros"},
        {0, nullptr, nullptr},
    };
    return g_enum_register_static("GstRunnelOnGap", values);
  }();
  return type;
}

Worker& worker_of(gpointer object) { return *reinterpret_cast<GstRunnel*>(object)->worker; }

std::string text_of(const GValue* value) {
  const gchar* const text = g_value_get_string(value);
  return text == nullptr ? std::string() : std::string(text);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  worker_of(object).change([&](Settings& settings) {
    switch (id) {
      case kModel:
        settings.model = text_of(value);
        break;
      case kGraph:
        settings.graph = text_of(value);
        break;
      case kFrontEnd:
        settings.front_end = text_of(value);
        break;
      case kDecision:
        settings.decision = text_of(value);
        break;
      case kThreshold:
        settings.threshold = g_value_get_double(value);
        break;
      case kChunk:
        settings.chunk = g_value_get_uint(value);
        break;
      case kOnGap:
        settings.zeros = g_value_get_enum(value) == 1;
        break;
      case kTolerance:
        settings.tolerance = g_value_get_uint64(value);
        break;
      case kAnyRate:
        settings.any_rate = g_value_get_boolean(value) != FALSE;
        break;
      case kSource:
        settings.source = text_of(value);
        break;
      case kKeyFile:
        settings.key_file = text_of(value);
        break;
      case kPostMessages:
        settings.messages = g_value_get_boolean(value) != FALSE;
        break;
      default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
  });
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  const Worker& worker = worker_of(object);
  const Settings settings = worker.settings();
  switch (id) {
    case kModel:
      return g_value_set_string(value, settings.model.c_str());
    case kGraph:
      return g_value_set_string(value, settings.graph.c_str());
    case kFrontEnd:
      return g_value_set_string(value, settings.front_end.c_str());
    case kDecision:
      return g_value_set_string(value, settings.decision.c_str());
    case kThreshold:
      return g_value_set_double(value, settings.threshold);
    case kChunk:
      return g_value_set_uint(value, settings.chunk);
    case kOnGap:
      return g_value_set_enum(value, settings.zeros ? 1 : 0);
    case kTolerance:
      return g_value_set_uint64(value, settings.tolerance);
    case kAnyRate:
      return g_value_set_boolean(value, settings.any_rate);
    case kSource:
      return g_value_set_string(value, settings.source.c_str());
    case kKeyFile:
      return g_value_set_string(value, settings.key_file.c_str());
    case kPostMessages:
      return g_value_set_boolean(value, settings.messages);
    case kDelay:
      return g_value_set_uint64(value, worker.delay());
    case kEvents:
      return g_value_set_uint64(value, worker.events());
    case kLostSamples:
      return g_value_set_uint64(value, worker.lost_samples());
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

void finalize(GObject* object) {
  delete reinterpret_cast<GstRunnel*>(object)->worker;
  G_OBJECT_CLASS(gst_runnel_parent_class)->finalize(object);
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  // The rate of the model is known before formats are negotiated.
  if (change == GST_STATE_CHANGE_NULL_TO_READY && !worker_of(element).load()) return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_runnel_parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_READY_TO_NULL) worker_of(element).unload();
  return result;
}

GstPad* request_new_pad(GstElement* element, GstPadTemplate* from, const gchar*, const GstCaps*) {
  return worker_of(element).request_text_pad(from);
}

void release_pad(GstElement* element, GstPad* pad) { worker_of(element).release_text_pad(pad); }

// Sound of the model's rate on both sides.
GstCaps* transform_caps(GstBaseTransform* base, GstPadDirection, GstCaps* caps, GstCaps* filter) {
  GstCaps* result = gst_caps_copy(caps);
  if (const guint rate = worker_of(base).wanted_rate(); rate != 0) {
    GstCaps* const wanted =
        gst_caps_new_simple("audio/x-raw", "rate", G_TYPE_INT, static_cast<int>(rate), nullptr);
    GstCaps* const both = gst_caps_intersect_full(result, wanted, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(wanted);
    gst_caps_unref(result);
    result = both;
  }
  if (filter != nullptr) {
    GstCaps* const both = gst_caps_intersect_full(filter, result, GST_CAPS_INTERSECT_FIRST);
    gst_caps_unref(result);
    result = both;
  }
  return result;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* in, GstCaps*) {
  GstAudioInfo info;
  return gst_audio_info_from_caps(&info, in) != FALSE && worker_of(base).set_format(info) ? TRUE : FALSE;
}

gboolean start(GstBaseTransform* base) { return worker_of(base).start() ? TRUE : FALSE; }

gboolean stop(GstBaseTransform* base) {
  worker_of(base).stop();
  return TRUE;
}

// Only metadata changes: the samples are never copied.
GstFlowReturn prepare_output_buffer(GstBaseTransform*, GstBuffer* in, GstBuffer** out) {
  *out = gst_buffer_is_writable(in) != FALSE ? in : gst_buffer_copy(in);
  return GST_FLOW_OK;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) { return worker_of(base).take(buffer); }

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  Worker& worker = worker_of(base);
  worker.before(event);
  gst_event_ref(event);
  const gboolean result = GST_BASE_TRANSFORM_CLASS(gst_runnel_parent_class)->sink_event(base, event);
  worker.after(event);
  gst_event_unref(event);
  return result;
}

// The sound is not held back, but who plays it should wait for the decisions: the least latency grows, the
// most that can be buffered does not.
gboolean answer_latency(GstBaseTransform* base, GstQuery* query) {
  if (gst_pad_peer_query(GST_BASE_TRANSFORM_SINK_PAD(base), query) == FALSE) return FALSE;
  gboolean live = FALSE;
  GstClockTime least = 0, most = GST_CLOCK_TIME_NONE;
  gst_query_parse_latency(query, &live, &least, &most);
  least += worker_of(base).delay();
  if (GST_CLOCK_TIME_IS_VALID(most)) most = std::max(most, least);
  gst_query_set_latency(query, live, least, most);
  return TRUE;
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE(query) == GST_QUERY_LATENCY)
    return answer_latency(base, query);
  return GST_BASE_TRANSFORM_CLASS(gst_runnel_parent_class)->query(base, direction, query);
}

void add_properties(GObjectClass* object) {
  const auto flags =
      static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
  const auto readable = static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  const auto text = [&](Property id, const char* name, const char* nick, const char* help,
                        const char* value) {
    g_object_class_install_property(object, id, g_param_spec_string(name, nick, help, value, flags));
  };
  text(kModel, "model", "Model", "Model file, or a name that `runnel models` lists", "digits");
  text(kGraph, "graph", "Graph",
       "Graph from samples to decisions, instead of a model: fbank ! infer ... ! detect", "");
  text(kFrontEnd, "front-end", "Front end", "Graph text before the model (empty: the model's own)", "");
  text(kDecision, "decision", "Decision", "Graph text after the model (empty: the model's own)", "");
  text(kSource, "source", "Source", "Name of the sound in lines of JSON", "samples");
  text(kKeyFile, "key-file", "Key file", "Key of an encrypted model (empty: the variable RUNNEL_KEY)", "");
  g_object_class_install_property(
      object, kThreshold,
      g_param_spec_double("threshold", "Threshold",
                          "Posterior at which a decision is made (negative: the decision's own)", -1, 1, -1,
                          flags));
  g_object_class_install_property(
      object, kChunk,
      g_param_spec_uint("chunk", "Chunk", "Frames per run of a streamed model (0: as many as there are)", 0,
                        1U << 20U, 0, flags));
  g_object_class_install_property(
      object, kOnGap,
      g_param_spec_enum("on-gap", "On gap", "What happens where sound is missing", on_gap_type(), 0, flags));
  g_object_class_install_property(
      object, kTolerance,
      g_param_spec_uint64(
          "tolerance", "Tolerance",
          "Nanoseconds by which time stamps may jump without a gap, unless a buffer is marked as "
          "discontinuous",
          0, GST_SECOND * 3600, 40 * GST_MSECOND, flags));
  g_object_class_install_property(
      object, kAnyRate,
      g_param_spec_boolean(
          "any-rate", "Any rate",
          "Takes sound of any rate and converts it as `runnel listen` does; otherwise only that of "
          "the model",
          FALSE, flags));
  g_object_class_install_property(
      object, kPostMessages,
      g_param_spec_boolean("post-messages", "Post messages",
                           "Posts a message for each decision, text and gap", TRUE, flags));
  g_object_class_install_property(
      object, kDelay,
      g_param_spec_uint64("delay", "Delay",
                          "Nanoseconds of sound after which a decision comes at the latest (0: unknown)", 0,
                          G_MAXUINT64, 0, readable));
  g_object_class_install_property(
      object, kEvents,
      g_param_spec_uint64("events", "Events", "Decisions since the start", 0, G_MAXUINT64, 0, readable));
  g_object_class_install_property(
      object, kLostSamples,
      g_param_spec_uint64("lost-samples", "Lost samples", "Missing samples since the start", 0, G_MAXUINT64,
                          0, readable));
}

void add_sound_pad(GstElementClass* element, const char* name, GstPadDirection direction) {
  GstCaps* const caps = gst_caps_new_simple("audio/x-raw", "rate", GST_TYPE_INT_RANGE, 1, kLargestRate,
                                            "channels", GST_TYPE_INT_RANGE, 1, kMostChannels, "layout",
                                            G_TYPE_STRING, "interleaved", nullptr);
  GValue formats = G_VALUE_INIT;
  g_value_init(&formats, GST_TYPE_LIST);
  for (const char* format : {GST_AUDIO_NE(S16), GST_AUDIO_NE(F32)}) {
    GValue one = G_VALUE_INIT;
    g_value_init(&one, G_TYPE_STRING);
    g_value_set_static_string(&one, format);
    gst_value_list_append_and_take_value(&formats, &one);
  }
  gst_caps_set_value(caps, "format", &formats);
  g_value_unset(&formats);
  gst_element_class_add_pad_template(element, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
}

}  // namespace

static void gst_runnel_class_init(GstRunnelClass* type) {
  runnel::gstreamer::register_meta();
  auto* const object = G_OBJECT_CLASS(type);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  add_properties(object);
  auto* const element = GST_ELEMENT_CLASS(type);
  element->change_state = change_state;
  element->request_new_pad = request_new_pad;
  element->release_pad = release_pad;
  gst_element_class_set_static_metadata(element, "runnel", "Filter/Analyzer/Audio",
                                        "Passes sound on and says what a trained model hears in it",
                                        "The runnel authors <maintainers@runnel.invalid>");
  add_sound_pad(element, "sink", GST_PAD_SINK);
  add_sound_pad(element, "src", GST_PAD_SRC);
  gst_element_class_add_pad_template(element, TextPad::make_template());
  auto* const base = GST_BASE_TRANSFORM_CLASS(type);
  base->transform_caps = transform_caps;
  base->set_caps = set_caps;
  base->start = start;
  base->stop = stop;
  base->prepare_output_buffer = prepare_output_buffer;
  base->transform_ip = transform_ip;
  base->sink_event = sink_event;
  base->query = query;
}

static void gst_runnel_init(GstRunnel* self) {
  self->worker = new Worker(&self->base);
  gst_base_transform_set_in_place(&self->base, TRUE);
  gst_base_transform_set_passthrough(&self->base, FALSE);
  gst_base_transform_set_gap_aware(&self->base, TRUE);
}

static gboolean plugin_init(GstPlugin* plugin) {
  return gst_element_register(plugin, "runnel", GST_RANK_NONE, gst_runnel_get_type());
}

#define PACKAGE "runnel"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, runnel, "What trained models hear in sound",
                  plugin_init, RUNNEL_VERSION, "Apache 2.0", "runnel", "https://runnel.invalid")
