// Settings of runs and the grids that lists of them span: what `bench` and `tune` go through. Keys
// are those of run options (engine/run/config/run_options.cpp), and "model" for a preset.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

inline constexpr const char* kModelKey = "model";

struct Setting {
    std::string key;
    std::string value;  ///< as after its flag
    friend bool operator==(const Setting&, const Setting&) = default;
};
using Settings = std::vector<Setting>;

/// Values of one option, in the order in which they are gone through.
struct SettingsAxis {
    std::string key;
    std::vector<std::string> values;
};

/// Without spaces around the values; empty ones are left out.
[[nodiscard]] std::vector<std::string> valuesIn(std::string_view list);

/// "--batch", "--model", "--sizes"; of options without a flag their key.
[[nodiscard]] std::string flagOf(std::string_view key);
/// "measure_sizes" of "--sizes", which only `bench` has; empty: it is none of these.
[[nodiscard]] std::string_view keyOfBenchFlag(std::string_view flag);
/// A sentence with these flags where it has their keys.
[[nodiscard]] std::string inBenchFlags(std::string text);

/// The model's preset first, so that its parts can be changed. kUsage, with the flag in front.
[[nodiscard]] Result<void> applySettings(const Settings& settings, run::RunConfig& config);

/// Every combination; the last axis varies fastest. One empty combination of no axes.
[[nodiscard]] std::vector<Settings> gridOf(const std::vector<SettingsAxis>& axes);

/// "zero2_ranks-2": words stand for themselves, numbers behind their key; for names of files.
[[nodiscard]] std::string nameOf(const Settings& settings);

}  // namespace shardscope::cli
