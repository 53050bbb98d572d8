// runnel: trained audio and sensor models as running streams. stdout carries data, stderr messages; exit code
// 0 only when everything requested was done.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "apps/call/last_words.h"
#include "apps/call/limits.h"
#include "apps/command_line.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/cpu.h"
#include "base/version.h"
#include "services/settings/settings.h"

namespace {

// Whether everything written to stdout has arrived.
bool flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return true;
  runnel::apps::say("stdout cannot be written");
  return false;
}

// Whether a verb can be that of the call.
bool names(int argc, char** argv, std::string_view verb) {
  return std::any_of(argv, argv + argc, [verb](const char* argument) { return argument == verb; });
}

}  // namespace

int main(int argc, char** argv) {
  using runnel::apps::CommandLine;
  runnel::apps::prepare_last_words();
  CommandLine command_line(
      "runnel",
      "runnel runs trained audio and sensor models on streams: live, over recordings, in firmware.");
  command_line.version([] {
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
  const runnel::apps::Verb program = command_line.program();
  program.require_verb();

  int exit_code = 0;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"help", "limits"}) {
    std::fputs(runnel::apps::limits_text().c_str(), stdout);
    return flush_output() ? 0 : 1;
  }
  // These two speak of the options of all verbs.
  const bool all = !arguments.empty() && (arguments[0] == "config" || arguments[0] == "manual");
  for (const runnel::apps::VerbEntry& entry : runnel::apps::kVerbs) {
    const runnel::apps::Verb verb = program.verb(entry.name, entry.help);
    verb.door(entry.door);
    verb.example(entry.example);
    if (!all && !names(argc, argv, entry.name)) continue;
    if (entry.add != nullptr)
      entry.add(verb, exit_code);
    else
      entry.add_about(verb, command_line, exit_code);
  }
  try {
    if (auto settings = runnel::settings::read_settings(); settings.ok()) {
      command_line.settings(std::move(settings).value());
    } else if (!arguments.empty() && !arguments[0].starts_with('-')) {
      runnel::apps::say(settings.status().text());
      return 2;
    }
    const CommandLine::Parsed parsed = command_line.run(arguments);
    switch (parsed.outcome) {
      case CommandLine::Outcome::done:
        break;
      case CommandLine::Outcome::answered:
        return flush_output() ? 0 : 1;
      case CommandLine::Outcome::refused:
        runnel::apps::say(parsed.complaint);
        return 2;
    }
  } catch (const std::bad_alloc&) {
    if (flush_output()) runnel::apps::say("more memory is needed than there is");
    return 1;
  } catch (const std::exception& error) {
    // Long answers meet a full disk before they are complete.
    if (flush_output()) runnel::apps::say(error.what());
    return 1;
  }
  return flush_output() ? exit_code : 1;
}
