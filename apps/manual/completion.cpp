#include "apps/manual/completion.h"

#include <algorithm>

namespace runnel::apps {
namespace {

// Names that take a model complete to the names that `runnel models` knows, and to files.
bool takes_model(const VerbFacts& verb) {
  return std::ranges::any_of(verb.options, [](const OptionFacts& option) {
    return option.positional && (option.names[0] == "MODEL" || option.names[0] == "WHAT");
  });
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::vector<std::string> options_of(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const OptionFacts& option : verb.options) {
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> verbs_of(const VerbFacts& verb) {
  std::vector<std::string> names;
  for (const VerbFacts& sub : verb.verbs) names.push_back(sub.name);
  return names;
}

// Calls `write(path, verb)` for the program and each verb; the path is "", "listen", "npu compile".
template <class Write>
void for_each_verb(const VerbFacts& verb, const std::string& path, const Write& write) {
  write(path, verb);
  for (const VerbFacts& sub : verb.verbs)
    for_each_verb(sub, path.empty() ? sub.name : path + " " + sub.name, write);
}

// In single quotes of a shell.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char letter : text)
    out += letter == '\'' ? "'\\''" : std::string(1, letter == '\n' ? ' ' : letter);
  return out + "'";
}

// A description of one line in zsh's _arguments: brackets and colons end it.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') out += '\\';
    out += letter == '\n' ? ' ' : letter;
  }
  return out;
}

}  // namespace

std::string bash_completion(const VerbFacts& program) {
  std::string verbs, values, words;
  for_each_verb(program, "", [&](const std::string& path, const VerbFacts& verb) {
    const std::string key = "\"" + path + "\"";
    for (const VerbFacts& sub : verb.verbs)
      verbs += "      " + std::string("\"") + (path.empty() ? sub.name : path + " " + sub.name) +
               "\") path=$next ;;\n";
    words += "    " + key + ") words=" + in_quotes(joined(verbs_of(verb)) + " " + joined(options_of(verb))) +
             (takes_model(verb) ? " models=1" : "") + " ;;\n";
    for (const OptionFacts& option : verb.options) {
      if (option.positional || option.value.empty()) continue;
      for (const std::string& name : option.names) {
        values += "    \"" + path + " " + name + "\") kind=";
        values += option.choices.empty() ? "file" : "'" + joined(option.choices) + "'";
        values += " ;;\n";
      }
    }
  });
  return "# Completion of runnel for bash, written by `runnel manual bash`.\n"
         "_runnel() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local path= next= words= kind= models= i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    next=${path:+$path }${COMP_WORDS[i]}\n"
         "    case $next in\n" +
         verbs +
         "      *) break ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path $previous\" in\n" +
         values +
         "  esac\n"
         "  if [[ $kind == file ]]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  if [[ -n $kind ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$kind\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case $path in\n" +
         words +
         "  esac\n"
         "  if [[ -n $models && $current != -* ]]; then\n"
         "    words+=\" $(\"${COMP_WORDS[0]}\" models --names 2>/dev/null)\"\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  if [[ -n $path && $current != -* ]]; then COMPREPLY+=($(compgen -f -- \"$current\")); fi\n"
         "}\n"
         "complete -o filenames -F _runnel runnel\n";
}

std::string zsh_completion(const VerbFacts& program) {
  std::string functions;
  const auto function_of = [](const std::string& path) {
    std::string name = path.empty() ? "_runnel" : "_runnel_" + path;
    std::ranges::replace(name, ' ', '_');
    std::ranges::replace(name, '-', '_');
    return name;
  };
  for_each_verb(program, "", [&](const std::string& path, const VerbFacts& verb) {
    std::string text = function_of(path) + "() {\n";
    if (!verb.verbs.empty()) {
      text += "  local line state\n  local -a verbs=(\n";
      for (const VerbFacts& sub : verb.verbs) {
        std::string name = sub.name;
        text += "    " + in_quotes(zsh_text(name) + ":" + zsh_text(sub.help)) + "\n";
      }
      text += "  )\n";
    }
    text += verb.verbs.empty() ? "  _arguments -s" : "  _arguments -s -C";
    bool models = false;
    for (const OptionFacts& option : verb.options) {
      if (option.positional) {
        models = models || option.names[0] == "MODEL" || option.names[0] == "WHAT";
        continue;
      }
      for (const std::string& name : option.names) {
        std::string spec = (option.repeated ? "*" : "") + name;
        if (!option.value.empty() && name.starts_with("--")) spec += "=";
        spec += "[" + zsh_text(option.help) + "]";
        if (!option.value.empty())
          spec += ":" + zsh_text(option.value) + ":" +
                  (option.choices.empty() ? "_files" : "(" + joined(option.choices) + ")");
        text += " \\\n    " + in_quotes(spec);
      }
    }
    if (!verb.verbs.empty()) {
      text += " \\\n    '1:verb:->verb' \\\n    '*::argument:->arguments'\n";
      text +=
          "  case $state in\n    verb) _describe -t verbs verb verbs ;;\n    arguments)\n      case $line[1] "
          "in\n";
      for (const VerbFacts& sub : verb.verbs)
        text += "        " + sub.name + ") " + function_of(path.empty() ? sub.name : path + " " + sub.name) +
                " ;;\n";
      text += "      esac ;;\n  esac\n";
    } else {
      text += models ? " \\\n    '1:model:_runnel_models' \\\n    '*:file:_files'\n"
                     : " \\\n    '*:file:_files'\n";
    }
    functions += text + "}\n";
  });
  return "#compdef runnel\n"
         "# Completion of runnel for zsh, written by `runnel manual zsh`.\n"
         "_runnel_models() {\n"
         "  local -a names=(${(f)\"$(runnel models --names 2>/dev/null)\"})\n"
         "  _alternative 'models:model:($names)' 'files:file:_files'\n"
         "}\n" +
         functions +
         "if [[ $funcstack[1] == _runnel ]]; then _runnel \"$@\"; else compdef _runnel runnel; fi\n";
}

std::string fish_completion(const VerbFacts& program) {
  std::string text =
      "# Completion of runnel for fish, written by `runnel manual fish`.\n"
      "# Whether the verbs so far are exactly these.\n"
      "function __runnel_at\n"
      "    set -l words (commandline -opc)[2..]\n"
      "    test (count $words) -ge (count $argv); or return 1\n"
      "    for i in (seq (count $argv))\n"
      "        test \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
      "    end\n"
      "end\n"
      "function __runnel_verb_missing\n"
      "    test (count (commandline -opc)) -eq (math (count $argv) + 1); and __runnel_at $argv\n"
      "end\n";
  for_each_verb(program, "", [&](const std::string& path, const VerbFacts& verb) {
    const std::string missing = "__runnel_verb_missing" + (path.empty() ? "" : " " + path);
    const std::string at = path.empty() ? "__runnel_verb_missing" : "__runnel_at " + path;
    for (const VerbFacts& sub : verb.verbs)
      text += "complete -c runnel -f -n " + in_quotes(missing) + " -a " + sub.name + " -d " +
              in_quotes(sub.help) + "\n";
    for (const OptionFacts& option : verb.options) {
      if (option.positional) {
        if (option.names[0] == "MODEL" || option.names[0] == "WHAT")
          text += "complete -c runnel -n " + in_quotes(at) + " -a '(runnel models --names 2>/dev/null)'\n";
        continue;
      }
      text += "complete -c runnel -n " + in_quotes(at);
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty())
        text += " -x -a " + in_quotes(joined(option.choices));
      else if (!option.value.empty())
        text += " -r";
      text += " -d " + in_quotes(option.help) + "\n";
    }
  });
  return text;
}

}  // namespace runnel::apps
