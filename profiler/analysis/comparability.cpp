#include "profiler/analysis/comparability.h"

#include "engine/run/config/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace shardscope::analysis {
namespace {

using Json = nlohmann::json;

/// Options that say where a run was, or where it went, not what it did; and those that have a
/// sentence of their own.
const std::set<std::string> kNotCompared{"/output", "/data",        "/reference", "/hosts",
                                         "/seed",   "/ssh_command", "/data_root", "/resume"};

Json flat(const std::string& text) {
    const Json config = Json::parse(text, nullptr, false);
    return config.is_object() ? config.flatten() : Json::object();
}

std::string valueText(const Json& config, const std::string& key) {
    if (!config.contains(key)) return "none";
    const Json& value = config[key];
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// "batch 4 / 8"
std::vector<std::string> optionsThatDiffer(const RunFacts& first, const RunFacts& second) {
    const Json one = flat(first.configJson), other = flat(second.configJson);
    std::set<std::string> keys;
    for (const Json* config : {&one, &other})
        for (const auto& [key, value] : config->items()) keys.insert(key);
    std::vector<std::string> found;
    for (const std::string& key : keys) {
        const std::string a = valueText(one, key), b = valueText(other, key);
        if (a == b || kNotCompared.contains(key)) continue;
        std::string name = key.substr(1);
        std::replace(name.begin(), name.end(), '/', '.');
        found.push_back(
            fmt::format("{} {} / {}", name, a.empty() ? "none" : a, b.empty() ? "none" : b));
    }
    return found;
}

std::string listText(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 8;
    const std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
    return fmt::format(
        "{}{}", fmt::join(shown, ", "),
        names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

std::string devicesOf(const RecordingSummary& summary) {
    std::set<std::string> names;
    for (const DeviceFacts& device : summary.devices) names.insert(device.name);
    if (names.empty())
        for (const HostFacts& host : summary.hosts)
            if (!host.cpu.empty()) names.insert(host.cpu);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Of runs of our own: what a trace says of its run has other names.
void addOptions(const RunFacts& first, const RunFacts& second, Comparability& found) {
    const bool one = run::parseRunConfigJson(first.configJson).has_value();
    const bool other = run::parseRunConfigJson(second.configJson).has_value();
    if (one != other)
        found.warnings.push_back(fmt::format(
            "How the {} run was set up is not known: it was imported.", one ? "second" : "first"));
    if (!one || !other) return;
    const auto options = optionsThatDiffer(first, second);
    if (options.empty()) return;
    found.warnings.push_back(
        fmt::format("Options differ (first / second): {}.", listText(options)));
}

bool hasSteps(const RecordingSummary& summary) {
    return !summary.steps.empty();
}

void addRefusals(const RecordingSummary& first, const RecordingSummary& second,
                 Comparability& found) {
    if (!hasSteps(first) || !hasSteps(second))
        found.refusals.push_back(fmt::format(
            "The {} recording has no steps, so there is nothing of the same kind to compare.",
            hasSteps(first) ? "second" : "first"));
    const bool known = first.run.parameters > 0 && second.run.parameters > 0;
    if (known && first.run.parameters != second.run.parameters)
        found.refusals.push_back(fmt::format(
            "They train different models: {} with {} parameters, {} with {}.", first.run.model,
            first.run.parameters, second.run.model, second.run.parameters));
}

}  // namespace

Comparability comparabilityOf(const RecordingSummary& first, const RecordingSummary& second) {
    Comparability found;
    addRefusals(first, second, found);
    const auto warn = [&](const char* what, const std::string& a, const std::string& b) {
        if (a != b)
            found.warnings.push_back(fmt::format("{} differ: {} / {}.", what,
                                                 a.empty() ? "not said" : a,
                                                 b.empty() ? "not said" : b));
    };
    if (first.run.worldSize != second.run.worldSize)
        warn("Numbers of ranks", std::to_string(first.run.worldSize),
             std::to_string(second.run.worldSize));
    addOptions(first.run, second.run, found);
    warn("Devices", devicesOf(first), devicesOf(second));
    warn("Programs", first.run.product, second.run.product);
    if (first.run.librariesJson != second.run.librariesJson)
        found.warnings.emplace_back("Versions of libraries differ; `info` lists them.");
    if (first.detail.empty() != second.detail.empty())
        found.warnings.emplace_back(
            "One of them lacks detail of some steps; what is compared is of those that have it.");
    if (!first.complete || !second.complete)
        found.warnings.push_back(
            fmt::format("The {} recording was not finalised; its last steps may be missing.",
                        !first.complete && !second.complete ? "first and the second"
                        : first.complete                    ? "second"
                                                            : "first"));
    return found;
}

}  // namespace shardscope::analysis
