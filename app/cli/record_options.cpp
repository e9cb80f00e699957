#include "app/cli/record_options.h"

#include "engine/control/run_fields.h"

#include <fmt/format.h>

namespace shardscope::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  shardscope record --strategy zero3 --ranks 2 --model shakespeare --steps 40 --output run.sscope
  shardscope record --model small --batch 4 --data corpus/ --output small.sscope
  shardscope record run.toml --lr 3e-4 --force

Ctrl-C stops after the step and finishes the recording, a second one kills.)";

bool isSwitch(const control::RunField& field) {
    return *field.argument == '\0';
}

/// A switch that turns something off has a twin that leaves it on: --no-x, --x.
std::string switchNames(const std::string& flag) {
    constexpr std::string_view kNegation = "--no-";
    if (!flag.starts_with(kNegation)) return flag;
    return fmt::format("{0},!--{1}", flag, flag.substr(kNegation.size()));
}

}  // namespace

void RecordOptions::addTo(CLI::App& app) {
    app.footer(kExamples);
    app.add_option("run_file", m_runFile, "TOML run file")->type_name("RUN.toml");
    app.add_option("--model", m_model, "model by name")
        ->type_name("NAME")
        ->group("Run")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    for (const control::RunField& field : control::runFields()) {
        if (*field.flag == '\0') continue;
        CLI::Option* option =
            isSwitch(field)
                ? app.add_flag(switchNames(field.flag), m_switches[field.key], field.help)
                : app.add_option(field.flag, m_texts[field.key], field.help)
                      ->type_name(field.argument);
        // As with every compiler: the last one counts.
        option->group("Run")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    app.add_flag("--force", force, "overwrite the output");
    app.add_flag("--json", json, "print one JSON object at the end");
    app.add_flag("--quiet", quiet, "warnings and errors only");
    app.add_option("--control", control, "speak JSON lines with a program: stdio")
        ->type_name("stdio")
        ->check(CLI::IsMember({"stdio"}));
}

Result<control::RunConfig> RecordOptions::config() const {
    control::RunConfig config;
    bool ranksGiven = !m_texts.at("ranks").empty();
    if (!m_runFile.empty()) {
        auto read = control::readRunFile(m_runFile, config);
        if (!read) return failure(read);
        ranksGiven = true;
        config = std::move(*read);
    }
    if (!m_model.empty()) {
        if (auto done = control::setModelPreset(config, m_model); !done) return failure(done);
    }
    for (const auto& [key, text] : m_texts) {
        if (text.empty()) continue;
        auto done = control::setFromText(*control::findRunField(key), config, text);
        if (!done) return failure(done);
    }
    for (const auto& [key, given] : m_switches) {
        if (!given) continue;
        const control::RunField& field = *control::findRunField(key);
        // A switch turns its field away from the default.
        const bool standard = std::get<bool>(field.get(control::RunConfig{}));
        if (auto done = field.set(config, !standard); !done) return failure(done);
    }
    // One rank is what "single" means; asking for it in words would be pedantic.
    if (config.strategy == control::Strategy::kSingle && !ranksGiven) config.ranks = 1;
    if (auto valid = control::validate(config); !valid) return failure(valid);
    return config;
}

}  // namespace shardscope::cli
