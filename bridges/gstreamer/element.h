// The GStreamer element `runnel`: passes sound on unchanged and says what a model hears in it.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GType gst_runnel_get_type(void);

G_END_DECLS
