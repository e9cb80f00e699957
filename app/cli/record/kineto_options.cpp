#include "app/cli/record/kineto_options.h"

#include "app/cli/record/part_words.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <chrono>

namespace shardscope::cli {
namespace {

constexpr std::int64_t kMostSteps = 100'000;

launch::kineto::Milliseconds whole(Duration duration) {
    return launch::kineto::Milliseconds{(duration.ns + 999'999) / 1'000'000};
}

template <class Value>
std::string withDefault(const char* help, const Value& value) {
    return fmt::format("{} [{}]", help, value);
}

}  // namespace

void KinetoOptions::addTo(CLI::App& app) {
    const auto add = [&](const char* name, auto& value, const char* takes,
                         const std::string& help) {
        m_options.emplace_back(
            name,
            addOption(app, name, value, help).takes(takes).under(kKinetoHeading).lastCounts());
        return m_options.back().second;
    };
    const Option window =
        add("--window", m_window, "TIME",
            withDefault("record so much time of all ranks, from the same moment", m_window));
    add("--window-steps", m_steps, "N", "record so many optimizer steps of all ranks instead")
        .within(1, kMostSteps)
        .excludes(window);
    add("--from-step", m_fromStep, "N",
        withDefault(
            "first step of --window-steps; where ranks are past it, the next multiple of it",
            m_fromStep))
        .within(1, kMostSteps * 10'000);
    add("--after", m_after, "TIME",
        withDefault("begin so long after the last rank has loaded PyTorch", m_after));
    add("--wait", m_wait, "TIME",
        withDefault("how long ranks may take to ask for work, and to write once the window is over",
                    m_wait));
    add("--socket-dir", m_socketFolder, "DIR",
        "folder where the program's processes look for their daemon (KINETO_IPC_SOCKET_DIR)");
}

Option KinetoOptions::addStacksTo(CLI::App& app, const std::string& help) {
    return addFlag(app, "--stacks", m_stacks, help);
}

std::vector<std::string> KinetoOptions::given() const {
    std::vector<std::string> names;
    for (const auto& [name, option] : m_options)
        if (option.given()) names.emplace_back(name);
    return names;
}

Result<launch::kineto::SessionRequest> KinetoOptions::request() const {
    launch::kineto::SessionRequest request;
    const auto window = parseDuration(m_window, "--window");
    const auto after = parseDuration(m_after, "--after");
    const auto wait = parseDuration(m_wait, "--wait");
    if (!window) return failure(window);
    if (!after) return failure(after);
    if (!wait) return failure(wait);
    request.window.length = whole(*window);
    request.window.steps = m_steps;
    request.window.fromStep = m_fromStep;
    request.window.stacks = m_stacks;
    request.after = whole(*after);
    request.wait = whole(*wait);
    if (m_steps == 0 && window->ns == 0)
        return failure(ErrorCode::kUsage, "--window 0 records nothing; give a time, like 500ms");
    return request;
}

std::string windowText(const launch::kineto::Window& window) {
    if (window.steps == 0)
        return fmt::format("a window of {}",
                           durationText(Duration{window.length.count() * 1'000'000}));
    return fmt::format("a window of {} from step {} or a multiple of it",
                       counted(window.steps, "optimizer step"), window.fromStep);
}

}  // namespace shardscope::cli
