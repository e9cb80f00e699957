// `shardscope control`: stops a run that is going on, or changes what it captures.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/options.h"
#include "app/cli/record/control_socket.h"
#include "app/cli/record/data_path.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ControlOptions {
    std::string recording;
    std::string verb;
    std::string level;
    std::string steps;
    int every = 0;
};

Result<std::string> lineOf(const ControlOptions& options) {
    const bool schedule = !options.steps.empty() || options.every != 0;
    if (options.verb == "level" && options.level.empty())
        return failure(ErrorCode::kUsage, "level takes a capture level: full, light or steps");
    if (options.verb != "level" && !options.level.empty())
        return failure(ErrorCode::kUsage,
                       fmt::format("{} takes nothing more, not '{}'", options.verb, options.level));
    if (schedule && options.verb != "capture")
        return failure(ErrorCode::kUsage, "--steps and --every belong to capture");
    if (options.verb == "capture" && !schedule)
        return failure(ErrorCode::kUsage, "capture takes --steps 10-20, --every 100, or both");
    Json json;
    if (options.verb == "stop" || options.verb == "kill" || options.verb == "keep")
        return Json{{"command", options.verb}}.dump();
    json["command"] = "capture";
    if (options.verb == "pause") json["level"] = "steps";
    if (options.verb == "level") json["level"] = options.level;
    if (!options.steps.empty()) json["steps"] = options.steps;
    if (options.every != 0) json["every"] = options.every;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int runControl(const ControlOptions& options) {
    auto line = lineOf(options);
    auto path = wholePath(options.recording);
    auto answer = !line   ? Result<std::string>(failure(line))
                  : !path ? Result<std::string>(failure(path))
                          : askRun(*path, *line);
    if (answer) return printLast(*answer + '\n');
    tellError("control: " + answer.error().message);
    return exitStatus(answer.error());
}

}  // namespace

Command addControl(CLI::App& root) {
    CLI::App* app = addVerb(root, "control", "stop a run that is going on, or change its capture");
    const auto options = std::make_shared<ControlOptions>();
    addOption(*app, "recording", options->recording, "what the run writes")
        .required()
        .takes("RECORDING");
    addOption(*app, "command", options->verb,
              "stop, kill, pause (steps and metrics only), resume, level, capture, keep (what "
              "--keep-last holds)")
        .required()
        .takes("COMMAND")
        .oneOf({"stop", "kill", "pause", "resume", "level", "capture", "keep"});
    addOption(*app, "level", options->level, "after level: full, light or steps").takes("LEVEL");
    addOption(*app, "--steps", options->steps, "after capture: these steps, 10-20,500-520")
        .takes("SPANS");
    addOption(*app, "--every", options->every, "after capture: and every N-th").takes("N");
    setFooter(*app,
              "The run is one of this user on this machine; at most the capture level that it was\n"
              "started with. A change takes effect within two steps, the same on all ranks.\n\n"
              "Examples:\n  shardscope control run.sscope stop\n"
              "  shardscope control run.sscope level light\n"
              "  shardscope control run.sscope capture --steps 500-520");
    return {app, [options] { return runControl(*options); }};
}

}  // namespace shardscope::cli
