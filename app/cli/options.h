// Options and arguments of verbs.
//
// CLI11 is seen by options.cpp and few others only: its own objects are compiled again in each
// source that sees them, which takes 4 s. Values outlive the verb's parsing. One thread.
#pragma once

#include "app/cli/command.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

/// One that was added, which belongs to its verb: what is known of it is said in further calls.
class Option {
public:
    Option() = default;
    explicit Option(CLI::Option* option) : m_option(option) {}

    Option required() const;
    /// What stands behind it in the help: "FILE".
    Option takes(const std::string& argument) const;
    /// The same; completions in shells offer these words, and others pass unless oneOf() checks.
    Option offers(const std::string& argument, const std::vector<std::string>& words) const;
    /// Heading in the help.
    Option under(const std::string& heading) const;
    Option excludes(const Option& other) const;
    Option needs(const Option& other) const;
    Option separatedBy(char delimiter) const;
    /// Given several times, the last one counts.
    Option lastCounts() const;
    /// Of several values: each needs the flag again.
    Option oneEach() const;
    /// The help shows the value as it is now.
    Option showsDefault() const;

    /// Accepts numbers from `least` to `most`.
    Option within(std::int64_t least, std::int64_t most) const;
    /// Likewise; NaN is not within.
    Option withinReal(double least, double most) const;
    /// Likewise, in seconds: "60" and "60s" are the same.
    Option secondsWithin(double least, double most) const;
    Option positive() const;
    Option oneOf(const std::vector<std::string>& words) const;
    /// `fault` says what is wrong with a text; empty: nothing.
    Option checkedBy(std::function<std::string(const std::string&)> fault) const;

    /// Whether the command line has it; after parsing. No option is never given.
    [[nodiscard]] bool given() const;

private:
    CLI::Option* m_option = nullptr;
};

/// A subcommand.
CLI::App* addVerb(CLI::App& root, const std::string& name, const std::string& summary);
/// Below the options in its help.
void setFooter(CLI::App& verb, const std::string& text);
/// From the list of verbs: for programs of ours.
void hide(CLI::App& verb);
/// --help-all, which shows rare options of runs too.
void addHelpAll(CLI::App& verb);

/// `names`: "-o,--output", or "recording" of an argument without a flag. Value: std::string, int32,
/// int64, uint32, size_t, double, std::vector of strings or uint32, std::optional of string or
/// double.
template <class Value>
Option addOption(CLI::App& verb, const std::string& names, Value& value,
                 const std::string& help = {});
/// Sets `value` where it is given.
Option addFlag(CLI::App& verb, const std::string& names, bool& value, const std::string& help);

// Those that mean the same in every verb that has them.

/// -o, --output
Option addOutput(CLI::App& app, std::string& output, const std::string& help);

/// -f, --force; `what` may be replaced.
Option addForce(CLI::App& app, bool& force, const std::string& what);
inline constexpr const char* kAnOldRecording = "the output if it is a recording";

/// --allow-commands; `source`: "a run file".
Option addAllowCommands(CLI::App& app, bool& allow, const std::string& source);

/// --steps, of what is looked at
Option addSteps(CLI::App& app, std::string& steps);

/// --ranks, of what is looked at or written
Option addRanks(CLI::App& app, std::vector<std::uint32_t>& ranks);

/// -q, --quiet
Option addQuiet(CLI::App& app, bool& quiet);

/// --json; `document` says which: "shardscope.report/1".
Option addJson(CLI::App& app, bool& json, const std::string& document);

/// --ssh-command, of verbs that read recordings of other hosts
Option addSshCommand(CLI::App& app, std::string& command);

}  // namespace shardscope::cli
