// The verbs of the program. Each function adds a subcommand, whose callback sets the exit code.
#pragma once

#include "apps/command_line.h"

namespace runnel::apps {

void add_import(Verb program, int& exit_code);
void add_export(Verb program, int& exit_code);
void add_embed(Verb program, int& exit_code);
void add_quantize(Verb program, int& exit_code);
void add_infer(Verb program, int& exit_code);
void add_inspect(Verb program, int& exit_code);
void add_check(Verb program, int& exit_code);
void add_bench(Verb program, int& exit_code);
void add_profile(Verb program, int& exit_code);
void add_run(Verb program, int& exit_code);
void add_listen(Verb program, int& exit_code);
void add_serve(Verb program, int& exit_code);
void add_devices(Verb program, int& exit_code);
void add_batch(Verb program, int& exit_code);
void add_merge(Verb program, int& exit_code);
void add_features(Verb program, int& exit_code);
void add_score(Verb program, int& exit_code);
void add_npu(Verb program, int& exit_code);

}  // namespace runnel::apps
