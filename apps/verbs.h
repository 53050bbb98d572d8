// The verbs of the program. Each adds its subcommand; its callback leaves the exit code behind.
#pragma once

#include <CLI/CLI.hpp>

namespace runnel::apps {

void add_import(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_embed(CLI::App& app, int& exit_code);
void add_quantize(CLI::App& app, int& exit_code);
void add_infer(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_profile(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_listen(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_batch(CLI::App& app, int& exit_code);
void add_merge(CLI::App& app, int& exit_code);
void add_features(CLI::App& app, int& exit_code);
void add_score(CLI::App& app, int& exit_code);
void add_npu(CLI::App& app, int& exit_code);

}  // namespace runnel::apps
