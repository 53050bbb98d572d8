// runnel manual: man pages and completions, from the same table as the help.
#include <filesystem>
#include <iostream>
#include <system_error>

#include "apps/manual/completion.h"
#include "apps/manual/man.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/version.h"

namespace runnel::apps {
namespace {

struct ManualCall {
  std::string what, output, date;
};

Status write_manual(const ManualCall& call, const VerbFacts& program) {
  if (call.what != "man") {
    const std::string text = call.what == "bash"  ? bash_completion(program)
                             : call.what == "zsh" ? zsh_completion(program)
                                                  : fish_completion(program);
    if (!call.output.empty()) return write_file(call.output, std::as_bytes(std::span(text)));
    std::cout << text;
    return {};
  }
  if (call.output.empty()) return Status(Code::invalid_argument, "man: expected -o FOLDER for the pages");
  std::error_code error;
  std::filesystem::create_directories(call.output, error);
  if (error) return Status(Code::io_error) << call.output << ": " << error.message();
  for (const ManPage& page : man_pages(program, std::string(kVersion), call.date))
    RUNNEL_TRY(
        write_file(std::filesystem::path(call.output) / page.name, std::as_bytes(std::span(page.text))));
  return {};
}

}  // namespace

void add_manual(Verb verb, const CommandLine& program, int& exit_code) {
  const auto call = std::make_shared<ManualCall>();
  verb.positional("WHAT", call->what, "man: the man pages; bash, zsh, fish: completion for this shell")
      .required()
      .choices({"man", "bash", "zsh", "fish"});
  verb.option("-o,--output", call->output,
              "Folder of the man pages, or file of the completion (default: the standard output)");
  verb.option("--date", call->date, "Date of the man pages, as 2026-11-26");
  verb.callback([call, &program, &exit_code] {
    if (const Status status = write_manual(*call, program.facts()); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
