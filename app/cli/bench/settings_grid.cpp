#include "app/cli/bench/settings_grid.h"

#include "engine/run/config/run_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace shardscope::cli {
namespace {

/// Options of a run that `record` has no flag for, and `bench` has.
struct BenchFlag {
    const char* key;
    const char* flag;
};
constexpr std::array kBenchFlags{BenchFlag{"measure_operations", "--operations"},
                                 BenchFlag{"measure_sizes", "--sizes"},
                                 BenchFlag{"measure_norms", "--shapes"}};

Result<void> applyOne(const Setting& setting, run::RunConfig& config) {
    Result<void> done;
    if (setting.key == kModelKey)
        done = run::setModelPreset(config, setting.value);
    else
        done = run::setFromText(*run::findRunOption(setting.key), config, setting.value);
    if (done) return done;
    const std::string flag = flagOf(setting.key);
    if (done.error().message.find(flag) != std::string::npos) return done;
    return failure(done, flag);
}

/// What a file's name may hold everywhere.
std::string plain(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        const bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
        safe += fine ? c : '-';
    }
    return safe;
}

}  // namespace

std::vector<std::string> valuesIn(std::string_view list) {
    std::vector<std::string> values;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        std::string_view value = list.substr(at, end - at);
        while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
        while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
        if (!value.empty()) values.emplace_back(value);
        at = end + 1;
    }
    return values;
}

std::string_view keyOfBenchFlag(std::string_view flag) {
    for (const BenchFlag& each : kBenchFlags)
        if (flag == each.flag) return each.key;
    return {};
}

std::string inBenchFlags(std::string text) {
    for (const BenchFlag& each : kBenchFlags) {
        const std::string_view key = each.key, flag = each.flag;
        for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos; at += flag.size())
            text.replace(at, key.size(), flag);
    }
    return text;
}

std::string flagOf(std::string_view key) {
    if (key == kModelKey) return "--model";
    for (const BenchFlag& each : kBenchFlags)
        if (key == each.key) return each.flag;
    const run::RunOption* option = run::findRunOption(key);
    return option != nullptr && *option->flag != '\0' ? option->flag : std::string(key);
}

Result<void> applySettings(const Settings& settings, run::RunConfig& config) {
    for (const bool model : {true, false})
        for (const Setting& setting : settings) {
            if ((setting.key == kModelKey) != model) continue;
            if (auto done = applyOne(setting, config); !done) return done;
        }
    return {};
}

std::vector<Settings> gridOf(const std::vector<SettingsAxis>& axes) {
    std::vector<Settings> grid{{}};
    for (const SettingsAxis& axis : axes) {
        std::vector<Settings> longer;
        for (const Settings& each : grid)
            for (const std::string& value : axis.values) {
                longer.push_back(each);
                longer.back().push_back({axis.key, value});
            }
        grid = std::move(longer);
    }
    return grid;
}

std::string nameOf(const Settings& settings) {
    std::string name;
    for (const Setting& setting : settings) {
        const run::RunOption* option = run::findRunOption(setting.key);
        const bool word = option == nullptr || option->choices != nullptr;
        if (!name.empty()) name += '_';
        name += word ? plain(setting.value)
                     : fmt::format("{}-{}", plain(setting.key), plain(setting.value));
    }
    return name;
}

}  // namespace shardscope::cli
