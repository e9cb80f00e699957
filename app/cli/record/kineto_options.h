// What a window through Kineto's requests is to be: options of `record --kineto` and of `attach`.
#pragma once

#include "app/cli/options.h"
#include "engine/launch/kineto/session.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {

/// In the help.
inline constexpr const char* kKinetoHeading = "Window through PyTorch's profiler";

class KinetoOptions {
public:
    /// `after`: how long after the last rank is there the window begins, unless it is given.
    explicit KinetoOptions(std::string after) : m_after(std::move(after)) {}

    void addTo(CLI::App& app);
    /// --stacks, which a program after -- takes without a window too.
    Option addStacksTo(CLI::App& app, const std::string& help);
    /// kUsage with a sentence; folders and processes are the caller's.
    [[nodiscard]] Result<launch::kineto::SessionRequest> request() const;
    /// As it was given; empty: not.
    [[nodiscard]] const std::string& socketFolder() const { return m_socketFolder; }
    [[nodiscard]] bool stacks() const { return m_stacks; }
    /// Those that are given: "--window", for a verb that has no use for them; --stacks apart.
    [[nodiscard]] std::vector<std::string> given() const;

private:
    std::string m_window = "500ms";
    std::string m_after;
    std::string m_wait = "60s";
    std::string m_socketFolder;
    std::int32_t m_steps = 0;
    std::int32_t m_fromStep = 100;
    bool m_stacks = false;
    std::vector<std::pair<const char*, Option>> m_options;
};

/// "a window of 500 ms", "a window of 3 optimizer steps from step 50"
[[nodiscard]] std::string windowText(const launch::kineto::Window& window);

}  // namespace shardscope::cli
