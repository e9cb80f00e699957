// The command line of `shardscope` as help: as app/manual takes it, verb by verb, and as `--help`
// looks.
#pragma once

#include "app/cli/command.h"
#include "app/manual/program_help.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace shardscope::cli {

/// Without what is hidden from the help. `root` is what addCommands() made.
[[nodiscard]] manual::Program programHelp(const CLI::App& root);

/// What stands behind an option, without what is checked of it: "LEVEL" of "LEVEL:{full,light}".
[[nodiscard]] std::string argumentName(const CLI::Option& option);

/// Options under headings, their defaults behind them, at most 100 columns. Rare options of a run
/// are in `--help-all` only.
class HelpFormatter : public CLI::Formatter {
public:
    [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                        CLI::AppFormatMode mode) const override;
    [[nodiscard]] std::string make_group(std::string group, bool isPositional,
                                         std::vector<const CLI::Option*> options) const override;
    [[nodiscard]] std::string make_option(const CLI::Option* option,
                                          bool isPositional) const override;
    [[nodiscard]] std::string make_option_name(const CLI::Option* option,
                                               bool isPositional) const override;
    [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override;
    [[nodiscard]] std::string make_subcommand(const CLI::App* command) const override;

private:
    mutable bool m_all = false;  ///< while --help-all is made
};

}  // namespace shardscope::cli
