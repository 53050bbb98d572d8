// The settings file of a user, ~/.config/runnel/config.toml: defaults of options, in a section for each verb.
//
//     model = "digits"          # of `listen` without a model
//
//     [listen]
//     device = "plughw:1,0"
//     threads = 2
//
//     [npu.compile]
//     accelerator = "ethos-u55-128"
//
// It is the part of TOML that options need: comments, sections, and keys whose values are texts, numbers,
// true, false, or arrays of these in one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::settings {

struct Setting {
  std::string section;              // "listen", "npu.compile"; empty: before the first section
  std::string key;                  // an option without its dashes
  std::vector<std::string> values;  // one, or those of an array
  int line = 0;                     // in the file, from 1
};

// Reads the text of a settings file. Errors: invalid_data with the line, what was expected and what was
// found; also for a key that is there twice.
Result<std::vector<Setting>> parse_settings(std::string_view text);

// The path of the file: the environment variable RUNNEL_CONFIG (set, but empty: there is none), else
// $XDG_CONFIG_HOME/runnel/config.toml, else ~/.config/runnel/config.toml; empty when none of these is known.
std::string settings_path();

// Reads that file; empty when it does not exist. Errors: those of parse_settings, with the file; not_found
// when RUNNEL_CONFIG names a file that does not exist.
Result<std::vector<Setting>> read_settings();

// The environment variable that precedes the settings file: RUNNEL_LISTEN_DEVICE for "listen" and "device".
std::string variable_of(std::string_view section, std::string_view key);

}  // namespace runnel::settings
