// What the user calls a run: options of `record` and `attach`.
#pragma once

#include "app/cli/options.h"
#include "storage/model/run_label.h"

#include <string>
#include <vector>

namespace shardscope::cli {

class LabelOptions {
public:
    void addTo(CLI::App& app);
    /// What was given; where one of them was not, that of `below`, as a run file has it. Too many
    /// tags are kUsage.
    [[nodiscard]] Result<RunLabel> label(const RunLabel& below = {}) const;

private:
    RunLabel m_given;
};

/// The options that give `label`, as words.
[[nodiscard]] std::vector<std::string> labelArguments(const RunLabel& label);

}  // namespace shardscope::cli
