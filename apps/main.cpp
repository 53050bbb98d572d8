// runnel: trained audio and sensor models as running streams. stdout carries data, stderr messages; exit code
// 0 only when everything requested was done.
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "apps/command_line.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/cpu.h"
#include "base/version.h"

namespace {

// Whether everything written to stdout has arrived.
bool flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return true;
  runnel::apps::say("stdout cannot be written");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  using runnel::apps::CommandLine;
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
  runnel::apps::add_run(program, exit_code);
  runnel::apps::add_listen(program, exit_code);
  runnel::apps::add_serve(program, exit_code);
  runnel::apps::add_devices(program, exit_code);
  runnel::apps::add_batch(program, exit_code);
  runnel::apps::add_merge(program, exit_code);
  runnel::apps::add_features(program, exit_code);
  runnel::apps::add_score(program, exit_code);
  runnel::apps::add_infer(program, exit_code);
  runnel::apps::add_import(program, exit_code);
  runnel::apps::add_export(program, exit_code);
  runnel::apps::add_embed(program, exit_code);
  runnel::apps::add_quantize(program, exit_code);
  runnel::apps::add_inspect(program, exit_code);
  runnel::apps::add_check(program, exit_code);
  runnel::apps::add_bench(program, exit_code);
  runnel::apps::add_profile(program, exit_code);
  runnel::apps::add_npu(program, exit_code);
  try {
    const CommandLine::Parsed parsed = command_line.run(argc, argv);
    switch (parsed.outcome) {
      case CommandLine::Outcome::done:
        break;
      case CommandLine::Outcome::answered:
        return flush_output() ? 0 : 1;
      case CommandLine::Outcome::refused:
        runnel::apps::say(parsed.complaint);
        return 2;
    }
  } catch (const std::exception& error) {
    runnel::apps::say(error.what());
    return 1;
  }
  return flush_output() ? exit_code : 1;
}
