#include "app/cli/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace shardscope::cli {
namespace {

CLI::Validator realWithin(double least, double most) {
    return CLI::Validator(
        [least, most](std::string& text) {
            double number = 0;
            const char* const end = text.data() + text.size();
            const auto [behind, error] = std::from_chars(text.data(), end, number);
            if (error == std::errc{} && behind == end && number >= least && number <= most)
                return std::string();
            return fmt::format("is {}; give a value from {:g} to {:g}", text, least, most);
        },
        "");
}

}  // namespace

Option Option::required() const {
    return Option(m_option->required());
}
Option Option::takes(const std::string& argument) const {
    return Option(m_option->type_name(argument));
}
Option Option::offers(const std::string& argument, const std::vector<std::string>& words) const {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : ",") + each;
    return takes(argument + ":{" + all + "}");
}
Option Option::under(const std::string& heading) const {
    return Option(m_option->group(heading));
}
Option Option::excludes(const Option& other) const {
    return Option(m_option->excludes(other.m_option));
}
Option Option::needs(const Option& other) const {
    return Option(m_option->needs(other.m_option));
}
Option Option::separatedBy(char delimiter) const {
    return Option(m_option->delimiter(delimiter));
}
Option Option::lastCounts() const {
    return Option(m_option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}
Option Option::oneEach() const {
    return Option(m_option->allow_extra_args(false));
}
Option Option::showsDefault() const {
    return Option(m_option->capture_default_str());
}
Option Option::within(std::int64_t least, std::int64_t most) const {
    return Option(m_option->check(CLI::Range(least, most)));
}
Option Option::withinReal(double least, double most) const {
    return Option(m_option->check(realWithin(least, most)));
}
Option Option::secondsWithin(double least, double most) const {
    m_option->transform([](std::string text) {
        if (text.size() > 1 && text.back() == 's' && text[text.size() - 2] <= '9') text.pop_back();
        return text;
    });
    return takes("TIME").withinReal(least, most);
}
Option Option::positive() const {
    return Option(m_option->check(CLI::PositiveNumber));
}
Option Option::oneOf(const std::vector<std::string>& words) const {
    return Option(m_option->check(CLI::IsMember(words)));
}
Option Option::checkedBy(std::function<std::string(const std::string&)> fault) const {
    return Option(m_option->check(std::move(fault)));
}
bool Option::given() const {
    return m_option != nullptr && m_option->count() > 0;
}

CLI::App* addVerb(CLI::App& root, const std::string& name, const std::string& summary) {
    return root.add_subcommand(name, summary);
}
void setFooter(CLI::App& verb, const std::string& text) {
    verb.footer(text);
}
void hide(CLI::App& verb) {
    verb.group("");
}
void addHelpAll(CLI::App& verb) {
    verb.set_help_all_flag("--help-all", "print the help of all options and exit");
}

template <class Value>
Option addOption(CLI::App& verb, const std::string& names, Value& value, const std::string& help) {
    return Option(verb.add_option(names, value, help));
}
template Option addOption(CLI::App&, const std::string&, std::string&, const std::string&);
template Option addOption(CLI::App&, const std::string&, std::int32_t&, const std::string&);
template Option addOption(CLI::App&, const std::string&, std::int64_t&, const std::string&);
template Option addOption(CLI::App&, const std::string&, std::uint32_t&, const std::string&);
template Option addOption(CLI::App&, const std::string&, std::size_t&, const std::string&);
template Option addOption(CLI::App&, const std::string&, double&, const std::string&);
template Option addOption(CLI::App&, const std::string&, std::vector<std::string>&,
                          const std::string&);
template Option addOption(CLI::App&, const std::string&, std::vector<std::uint32_t>&,
                          const std::string&);
template Option addOption(CLI::App&, const std::string&, std::optional<std::string>&,
                          const std::string&);
template Option addOption(CLI::App&, const std::string&, std::optional<double>&,
                          const std::string&);

Option addFlag(CLI::App& verb, const std::string& names, bool& value, const std::string& help) {
    return Option(verb.add_flag(names, value, help));
}

Option addOutput(CLI::App& app, std::string& output, const std::string& help) {
    return addOption(app, "-o,--output", output, help).takes("FILE");
}

Option addForce(CLI::App& app, bool& force, const std::string& what) {
    return addFlag(app, "-f,--force", force, "replace " + what);
}

Option addAllowCommands(CLI::App& app, bool& allow, const std::string& source) {
    return addFlag(
        app, "--allow-commands", allow,
        "let " + source +
            " name programs and libraries: ssh_command, folder and NCCL_*PLUGIN of a host");
}

Option addSteps(CLI::App& app, std::string& steps) {
    return addOption(app, "--steps", steps, "FIRST-LAST, or several of them with commas");
}

Option addRanks(CLI::App& app, std::vector<std::uint32_t>& ranks) {
    return addOption(app, "--ranks", ranks, "comma-separated ranks; all unless given")
        .separatedBy(',')
        .checkedBy([](const std::string& word) {
            const bool number =
                !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
            return number ? std::string() : "'" + word + "' is not a rank: write 0 or 0,2,3";
        });
}

Option addQuiet(CLI::App& app, bool& quiet) {
    return addFlag(app, "-q,--quiet", quiet, "print warnings and errors only");
}

Option addJson(CLI::App& app, bool& json, const std::string& document) {
    return addFlag(app, "--json", json, "print one JSON document, schema " + document);
}

Option addSshCommand(CLI::App& app, std::string& command) {
    return addOption(app, "--ssh-command", command,
                     "ssh command that reaches the host of ssh://HOST/PATH [ssh]")
        .takes("WORDS");
}

}  // namespace shardscope::cli
