// What is known of front ends without running them.
#include <pybind11/stl.h>

#include <string>

#include "features/fbank/fbank_parameters.h"
#include "features/microfrontend/microfrontend_options.h"
#include "pipeline/host/front_end.h"
#include "pipeline/host/registry.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "services/front_ends/recipe.h"
#include "services/listen/listen_graph.h"

namespace runnel::python {

namespace py = pybind11;

namespace {

// The parameters of a node: name, type, unit, default, help.
py::list parameters_of(const std::string& node) {
  const pipeline::NodeType* const type = value_of(pipeline::find_node(pipeline::host_nodes(), node, true));
  HeapMemory memory;
  pipeline::Node* const made = type->make(memory);
  if (made == nullptr) throw Failure(pipeline::out_of_memory(node));
  py::list out;
  for (const pipeline::Parameter& parameter : type->parameters) {
    py::dict about;
    about["name"] = std::string(parameter.name);
    about["type"] = std::string(pipeline::name_of(parameter.type));
    about["unit"] = std::string(parameter.unit);
    about["default"] = pipeline::value_text(parameter.get(parameter, *made));
    about["choices"] = std::string(parameter.choices);
    about["help"] = std::string(parameter.help);
    out.append(about);
  }
  made->~Node();
  return out;
}

}  // namespace

void bind_front_ends(py::module_& module) {
  module.def("presets", [] {
    py::list names;
    for (const auto& preset : features::presets()) names.append(std::string(preset.name));
    for (const auto& preset : features::microfrontend_presets()) names.append(std::string(preset.name));
    return names;
  });
  module.def("recipe_text",
             [](const std::string& preset, const std::string& kind, const std::string& settings) {
               return value_of(front_ends::recipe_text(preset, kind, settings));
             });
  // The text with every parameter, and the rate of its input.
  module.def("resolve_front_end", [](const std::string& text, std::int64_t sample_rate) {
    pipeline::FrontEnd front_end;
    {
      const py::gil_scoped_release release;
      front_end = value_of(pipeline::resolve_front_end(text, sample_rate));
    }
    return std::pair(front_end.text, front_end.sample_rate);
  });
  module.def("node_parameters", &parameters_of);
  module.def("quote", [](const std::string& value) { return pipeline::quote_value(value); });
  module.def("source_text", [](const std::string& wav, double tail, const std::string& device,
                               std::int64_t rate, std::int64_t channels, double period, double buffer,
                               const std::string& overload, double replug, double duration) {
    listen::ListenOptions options;
    options.wav = wav;
    options.tail = tail;
    options.device = device;
    options.rate = rate;
    options.channels = channels;
    options.period = period;
    options.buffer = buffer;
    options.overload = overload;
    options.replug = replug;
    options.duration = duration;
    return listen::source_text(options);
  });
  module.def("with_threshold", [](const std::string& around, double threshold) {
    return value_of(listen::with_threshold(around, threshold));
  });
}

}  // namespace runnel::python
