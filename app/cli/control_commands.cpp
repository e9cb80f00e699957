#include "app/cli/control_commands.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shardscope::cli {
namespace {

/// Of {"command":"capture","level":...,"steps":...,"every":...}; nothing else may be in it.
Result<run::CaptureChange> captureChangeIn(const nlohmann::json& json) {
    run::CaptureChange change;
    for (const auto& [key, value] : json.items()) {
        if (key == "level" && value.is_string())
            change.level = value.get<std::string>();
        else if (key == "steps" && value.is_string())
            change.steps = value.get<std::string>();
        else if (key == "every" && value.is_number_integer() && value >= 0 &&
                 value <= 2'000'000'000)
            change.every = value.get<std::int32_t>();
        else if (key != "command")
            return failure(ErrorCode::kUsage,
                           "a capture command knows \"level\" (a word), \"steps\" (a text) and "
                           "\"every\" (a whole number), not this \"" +
                               key + "\"");
    }
    return change;
}

Result<std::string> changeCapture(launch::RunSupervisor& run, const run::RunConfig& config,
                                  const nlohmann::json& json) {
    const auto change = captureChangeIn(json);
    if (!change) return failure(change);
    // The ranks would refuse it without a word.
    if (auto schedule = run::CaptureSchedule::of(config, *change); !schedule)
        return failure(schedule);
    run.requestCapture(*change);
    return std::string("what is captured changes with the next step or the one after");
}

}  // namespace

Result<std::string> ControlCommands::apply(std::string_view line) const {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const std::string command =
        json.is_object() && json.contains("command") && json["command"].is_string()
            ? json["command"].get<std::string>()
            : std::string();
    if (command == "stop") {
        m_run.requestStop();
        return std::string("stopping after this step");
    }
    if (command == "kill") {
        m_run.requestKill();
        return std::string("killing the run");
    }
    if (command == "capture") return changeCapture(m_run, m_config, json);
    return failure(ErrorCode::kUsage, fmt::format("not understood: {}", line));
}

}  // namespace shardscope::cli
