#include "app/cli/shared_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace shardscope::cli {

CLI::Option* offer(CLI::Option* option, const std::string& argument,
                   const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& each : words) all += (all.empty() ? "" : ",") + each;
    return option->type_name(argument + ":{" + all + "}");
}

CLI::Validator numberWithin(double least, double most) {
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

CLI::Option* addOutput(CLI::App& app, std::string& output, const std::string& help) {
    return app.add_option("-o,--output", output, help)->type_name("FILE");
}

CLI::Option* addForce(CLI::App& app, bool& force, const std::string& what) {
    return app.add_flag("-f,--force", force, "replace " + what);
}

CLI::Option* addAllowCommands(CLI::App& app, bool& allow, const std::string& source) {
    return app.add_flag(
        "--allow-commands", allow,
        "let " + source + " name programs and libraries: ssh_command, NCCL_*PLUGIN of a host");
}

CLI::Option* addSteps(CLI::App& app, std::string& steps) {
    return app.add_option("--steps", steps, "FIRST-LAST, or several of them with commas");
}

CLI::Option* addRanks(CLI::App& app, std::vector<std::uint32_t>& ranks) {
    return app.add_option("--ranks", ranks, "comma-separated ranks; all unless given")
        ->delimiter(',')
        ->check([](const std::string& word) {
            const bool number =
                !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
            return number ? std::string() : "'" + word + "' is not a rank: write 0 or 0,2,3";
        });
}

CLI::Option* addQuiet(CLI::App& app, bool& quiet) {
    return app.add_flag("-q,--quiet", quiet, "print warnings and errors only");
}

CLI::Option* addJson(CLI::App& app, bool& json, const std::string& document) {
    return app.add_flag("--json", json, "print one JSON document, schema " + document);
}

CLI::Option* addSshCommand(CLI::App& app, std::string& command) {
    return app
        .add_option("--ssh-command", command,
                    "ssh command that reaches the host of ssh://HOST/PATH [ssh]")
        ->type_name("WORDS");
}

}  // namespace shardscope::cli
