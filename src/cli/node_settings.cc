#include "cli/node_settings.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "election/store/environment.h"

namespace bellwether::cli {
namespace {

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size()) != 0) return "node";
  return name.c_str();
}

}  // namespace

void add_node_settings(CLI::App* command, NodeSettings& given) {
  command->add_option("-c,--config", given.file, "The node's settings: YAML, or TOML where it ends in .toml")
      ->type_name("FILE");
  command
      ->add_option("--set", given.assignments,
                   "NAME=VALUE, over the file and the environment; `bellwether config show` names all settings")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          "--leadership", [&given](const std::string& url) { given.assignments.push_back("leadership=" + url); },
          "As --set leadership=URL: a store that decides who leads, or quorum")
      ->type_name("URL");
}

ReadSettings read_node_settings(const NodeSettings& given, const std::vector<std::string>& over) {
  ReadSettings read;
  yaml::Diagnostics wrong(given.file.empty() ? "settings" : given.file);
  if (!given.file.empty()) {
    std::ifstream file(given.file, std::ios::binary);
    std::stringstream text;
    if (file) text << file.rdbuf();
    if (!file) {
      std::fprintf(stderr, "%s: the file cannot be read; --config names the file of this node's settings\n",
                   given.file.c_str());
      return read;  // what is missing then is no news
    } else {
      read.settings.read_file(text.str(), wrong, given.file);
    }
  }
  read.settings.read_environment(&store::own_environment, wrong);
  for (const std::string& one : given.assignments) read.settings.read_option(one, wrong);
  for (const std::string& one : over) read.settings.read_option(one, wrong);
  read.config = cluster::node_config(read.settings, host_name(), wrong);
  if (!wrong.empty()) read.config.reset();
  for (const yaml::Diagnostic& one : wrong.take()) std::fprintf(stderr, "%s\n", format(one).c_str());
  return read;
}

}  // namespace bellwether::cli
