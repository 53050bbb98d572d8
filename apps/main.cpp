// runnel: trained audio and sensor models as running streams. stdout carries data, stderr carries talk; exit
// code 0 only when everything asked for was done.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <string>

#include "apps/support.h"
#include "apps/verbs.h"
#include "base/cpu.h"
#include "base/suggest.h"
#include "base/version.h"

namespace {

// Where only the lower end of a range counts, CLI11 writes the upper one out in 316 characters, and the lower
// one as 0.000000 whether 0 is allowed or not.
void shorten_range(std::string& text) {
  const std::string bounds =
      " not in range 0.000000 to " + std::to_string(std::numeric_limits<double>::max());
  const std::size_t at = text.find(bounds);
  if (at == std::string::npos) return;
  const std::string value = text.substr(0, at);
  const bool zero = value.find_first_of("123456789", value.rfind(' ') + 1) == std::string::npos;
  text.replace(at, bounds.size(),
               zero ? ", expected more than 0" : ", expected a number that is not negative");
}

// What is wrong with a call, in one line.
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string known = argc > 1 ? argv[1] : "";
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  const bool is_verb = std::any_of(verbs.begin(), verbs.end(),
                                   [&](const CLI::App* verb) { return verb->get_name() == known; });
  std::string text;
  if (known.empty()) {
    text = "a verb is required";
  } else if (!is_verb && !known.starts_with('-')) {
    runnel::Suggestion nearest(known);
    for (const CLI::App* verb : verbs) nearest.consider(verb->get_name());
    text = "there is no verb '" + known + "'";
    if (!nearest.best().empty()) text += ", did you mean '" + std::string(nearest.best()) + "'?";
  } else {
    text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    shorten_range(text);
  }
  return text + " (see runnel " + (is_verb ? known + " " : "") + "--help)";
}

// CLI11 compares with bounds, which says yes to a number that is none.
void want_finite_numbers(CLI::App& app) {
  const auto finite = [](const std::string& text) {
    double value = 0;
    return CLI::detail::lexical_cast(text, value) && !std::isfinite(value)
               ? "expected a finite number, found " + text
               : std::string();
  };
  for (CLI::App* verb : app.get_subcommands({})) {
    for (CLI::Option* option : verb->get_options()) {
      if (option->get_type_name().starts_with(CLI::detail::type_name<double>())) option->check(finite);
    }
    want_finite_numbers(*verb);
  }
}

// Whether everything that was meant for stdout is there.
bool flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return true;
  runnel::apps::say("stdout cannot be written");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "runnel takes trained audio and sensor models to running streams: live, over recordings, in firmware.",
      "runnel");
  app.require_subcommand(1);
  app.set_version_flag("--version", [] {
    std::string text = "runnel " + std::string(runnel::kVersion) +
                       "\nvector instructions: " + std::string(runnel::name_of(runnel::best_isa())) + "\n";
#ifdef RUNNEL_HAVE_FFTW
    text +=
        "This program links FFTW (GPL-2.0-or-later): as a binary it is GPL-3.0-or-later. Built without FFTW "
        "it is Apache-2.0.";
#else
    text += "Licence: Apache-2.0.";
#endif
    return text;
  });
  app.get_formatter()->column_width(34);
  app.option_defaults()->always_capture_default();

  int exit_code = 0;
  runnel::apps::add_run(app, exit_code);
  runnel::apps::add_listen(app, exit_code);
  runnel::apps::add_serve(app, exit_code);
  runnel::apps::add_devices(app, exit_code);
  runnel::apps::add_batch(app, exit_code);
  runnel::apps::add_merge(app, exit_code);
  runnel::apps::add_features(app, exit_code);
  runnel::apps::add_score(app, exit_code);
  runnel::apps::add_infer(app, exit_code);
  runnel::apps::add_import(app, exit_code);
  runnel::apps::add_export(app, exit_code);
  runnel::apps::add_embed(app, exit_code);
  runnel::apps::add_quantize(app, exit_code);
  runnel::apps::add_inspect(app, exit_code);
  runnel::apps::add_check(app, exit_code);
  runnel::apps::add_bench(app, exit_code);
  runnel::apps::add_profile(app, exit_code);
  runnel::apps::add_npu(app, exit_code);
  want_finite_numbers(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are answers on stdout; anything else is a wrong call.
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return flush_output() ? 0 : 1;
    }
    runnel::apps::say(explain(app, error, argc, argv));
    return 2;
  } catch (const std::exception& error) {
    runnel::apps::say(error.what());
    return 1;
  }
  return flush_output() ? exit_code : 1;
}
