#include "profiler/analysis/compare/comparability.h"

#include "engine/run/config/measurement_plan.h"
#include "engine/run/config/program_run.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_option.h"
#include "profiler/analysis/compare/grounds.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace shardscope::analysis {
namespace {

using Json = nlohmann::json;

/// Options that say where a run was, or where it went, not what it did; and those that have a
/// sentence of their own.
const std::set<std::string> kNotCompared{"/output", "/data",        "/reference", "/hosts",
                                         "/seed",   "/ssh_command", "/data_root", "/resume"};
/// What runs that scale differ in, and what has a sentence of its own there.
const std::set<std::string> kNotComparedInScaling{"/ranks", "/batch", "/accumulate", "/precision"};

Json flat(const std::string& text) {
    const Json config = Json::parse(text, nullptr, false);
    return config.is_object() ? config.flatten() : Json::object();
}

/// As the form shows it: of a choice its name, of a switch whether it is on.
std::string valueText(const Json& config, const std::string& key, const run::RunOption* option) {
    if (!config.contains(key)) return "none";
    const Json& value = config[key];
    if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
    if (value.is_number_float()) return fmt::format("{}", value.get<double>());
    if (!value.is_string()) return value.dump();
    const auto word = value.get<std::string>();
    if (option != nullptr && option->choices != nullptr)
        for (const run::OptionChoice& choice : option->choices())
            if (choice.word == word) return choice.name;
    return word.empty() ? "none" : word;
}

/// "Micro-batch 4 / 8 sequences", in the words of the form; of what is not in it, its key.
std::string differenceText(const std::string& key, const Json& one, const Json& other) {
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    const run::RunOption* option = run::findRunOption(name);
    const bool isNamed = option != nullptr && *option->name != '\0';
    const char* unit = isNamed ? option->unit : "";
    return fmt::format("{} {} / {}{}{}", isNamed ? option->name : name.c_str(),
                       valueText(one, key, option), valueText(other, key, option),
                       *unit == '\0' ? "" : " ", unit);
}

std::vector<std::string> optionsThatDiffer(const RunFacts& first, const RunFacts& second,
                                           const std::set<std::string>& besides = {}) {
    const Json one = flat(first.configJson), other = flat(second.configJson);
    std::set<std::string> keys;
    for (const Json* config : {&one, &other})
        for (const auto& [key, value] : config->items()) keys.insert(key);
    std::vector<std::string> found;
    for (const std::string& key : keys) {
        if (kNotCompared.contains(key) || besides.contains(key)) continue;
        if (valueText(one, key, nullptr) != valueText(other, key, nullptr))
            found.push_back(differenceText(key, one, other));
    }
    return found;
}

std::string listText(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 8;
    const std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, names.size())));
    return fmt::format(
        "{}{}", fmt::join(shown, "; "),
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

/// Of two programs of the user's: which ran is known, not what they are set to.
void addCommands(const run::ProgramRun& first, const run::ProgramRun& second,
                 Comparability& found) {
    if (first.command != second.command)
        found.warnings.push_back(fmt::format("Commands differ: {} / {}.",
                                             run::commandText(first.command),
                                             run::commandText(second.command)));
    if (first.capture != second.capture)
        found.warnings.push_back(
            fmt::format("Capture levels differ: {} / {}. Recording more takes more time.",
                        toWord(first.capture), toWord(second.capture)));
}

/// Of runs of our own, or of two programs: what a trace says of its run has other names.
void addOptions(const RunFacts& first, const RunFacts& second, const SideNames& names,
                Comparability& found) {
    const bool one = run::parseRunConfigJson(first.configJson).has_value();
    const bool other = run::parseRunConfigJson(second.configJson).has_value();
    const auto program = run::parseProgramJson(first.configJson);
    const auto otherProgram = run::parseProgramJson(second.configJson);
    if (program && otherProgram) return addCommands(*program, *otherProgram, found);
    if (one != other)
        found.warnings.push_back(fmt::format(
            "How {} was set up is unknown: it is {}.", one ? names.second : names.first,
            sourceOf(one ? second : first) == RecordingSource::kProgram ? "a run of another program"
                                                                        : "imported"));
    if (!one || !other) return;
    const auto options = optionsThatDiffer(first, second);
    if (options.empty()) return;
    found.warnings.push_back(
        fmt::format("Options differ ({} / {}): {}.", names.first, names.second, listText(options)));
}

bool hasSteps(const RecordingSummary& summary) {
    return !summary.steps.empty();
}

/// With its parameters.
std::string modelText(const RunFacts& run) {
    return (run.model.empty() ? "" : run.model + " with ") + counted(run.parameters, "parameter");
}

/// Parameters that differ, of runs whose models are known.
bool otherModel(const RunFacts& first, const RunFacts& other) {
    return first.parameters > 0 && other.parameters > 0 && first.parameters != other.parameters;
}

/// Empty: it trains, or it is not known.
std::string measuredBy(const RunFacts& run) {
    const auto config = run::parseRunConfigJson(run.configJson);
    return config ? run::measuredText(*config) : std::string();
}

/// That only one of them trained; empty: both did, or neither. `names` of the two.
std::string otherWork(const RunFacts& first, const RunFacts& other,
                      const std::array<std::string, 2>& names) {
    const std::string one = measuredBy(first), two = measuredBy(other);
    if (one.empty() == two.empty()) return {};
    return fmt::format("Not both trained: {} measured {}.", names[one.empty() ? 1 : 0],
                       one.empty() ? two : one);
}

void addRefusals(const RecordingSummary& first, const RecordingSummary& second,
                 const SideNames& names, Comparability& found) {
    if (!hasSteps(first) || !hasSteps(second))
        found.refusals.push_back(fmt::format(
            "The recording of {} has no steps, so there is nothing of the same kind to compare.",
            hasSteps(first) ? names.second : names.first));
    if (auto sentence = otherWork(first.run, second.run, {names.first, names.second});
        !sentence.empty()) {
        found.refusals.push_back(std::move(sentence));
        return;
    }
    if (!otherModel(first.run, second.run)) return;
    // What is changed between two runs of a user's program can be its model.
    const bool programs = sourceOf(first.run) == RecordingSource::kProgram &&
                          sourceOf(second.run) == RecordingSource::kProgram;
    (programs ? found.warnings : found.refusals)
        .push_back(fmt::format("They train different models: {}, {}.", modelText(first.run),
                               modelText(second.run)));
}

/// Empty: it is not known.
std::string precisionOf(const RecordingSummary& summary) {
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    return config ? toWord(config->precision) : "";
}

/// What one rank computes on: of our own CPU runs with its threads, "Xeon, cpu (1 thread)". Empty:
/// not known.
std::string rankDevicesOf(const RecordingSummary& summary) {
    std::string text = devicesOf(summary);
    if (!summary.devices.empty() || precisionOf(summary).empty()) return text;
    std::set<std::string> names;
    for (const RankFacts& rank : summary.ranks)
        if (!rank.device.empty()) names.insert(rank.device);
    if (names.empty()) return {};
    return fmt::format("{}{}{}", text, text.empty() ? "" : ", ", fmt::join(names, ", "));
}

/// What makes the other one another kind of work.
void addScalingRefusals(const RecordingSummary& first, const RecordingSummary& other,
                        std::string_view name, Comparability& found) {
    const auto refuse = [&](const char* what, const std::string& a, const std::string& b) {
        found.refusals.push_back(
            fmt::format("{} of recording 1 and {} differ: {} / {}.", what, name, a, b));
    };
    if (auto sentence = otherWork(first.run, other.run, {"recording 1", std::string(name)});
        !sentence.empty())
        found.refusals.push_back(std::move(sentence));
    else if (otherModel(first.run, other.run))
        refuse("Parameters", countText(first.run.parameters), countText(other.run.parameters));
    const std::string one = precisionOf(first), two = precisionOf(other);
    if (!one.empty() && !two.empty() && one != two) refuse("Precisions", one, two);
    const std::string devices = rankDevicesOf(first), others = rankDevicesOf(other);
    if (devices.empty() || others.empty() || devices == others) return;
    refuse("Devices", devices, others);
    const auto ofThreads = [](const std::string& text) {
        return text.find(" thread") != std::string::npos;
    };
    if (devicesOf(first) == devicesOf(other) && ofThreads(devices) && ofThreads(others))
        found.refusals.back() +=
            " By default ranks divide the cores of a host: record each with the same --threads.";
}

}  // namespace

Comparability scalingComparabilityOf(const RecordingSummary& first, const RecordingSummary& other,
                                     std::string_view name) {
    Comparability found;
    addScalingRefusals(first, other, name, found);
    if (precisionOf(first).empty() || precisionOf(other).empty())
        found.warnings.push_back(
            fmt::format("Whether recording 1 and {} compute alike is not known: {}.", name,
                        sourceOf(first.run) == RecordingSource::kImport ||
                                sourceOf(other.run) == RecordingSource::kImport
                            ? "a trace was imported"
                            : "a program of the user's does not say it"));
    const auto options = optionsThatDiffer(first.run, other.run, kNotComparedInScaling);
    if (!precisionOf(first).empty() && !precisionOf(other).empty() && !options.empty())
        found.warnings.push_back(
            fmt::format("Options of recording 1 and {} differ: {}.", name, listText(options)));
    if (first.run.product != other.run.product)
        found.warnings.push_back(
            fmt::format("Recording 1 and {} are of different programs.", name));
    return found;
}

Comparability comparabilityOf(const RecordingSummary& first, const RecordingSummary& second,
                              const SideNames& names) {
    Comparability found;
    addRefusals(first, second, names, found);
    const auto warn = [&](const char* what, const std::string& a, const std::string& b) {
        if (a != b)
            found.warnings.push_back(fmt::format("{} differ: {} / {}.", what,
                                                 a.empty() ? "not said" : a,
                                                 b.empty() ? "not said" : b));
    };
    if (first.run.worldSize != second.run.worldSize)
        warn("Numbers of ranks", std::to_string(first.run.worldSize),
             std::to_string(second.run.worldSize));
    addOptions(first.run, second.run, names, found);
    warn("Devices", devicesOf(first), devicesOf(second));
    warn("Programs", first.run.product, second.run.product);
    for (const std::string& sentence : groundsOf({&first, {}}, {&second, {}}).sentences)
        found.warnings.push_back(sentence);
    if (first.run.librariesJson != second.run.librariesJson)
        found.warnings.emplace_back("Versions of libraries differ; `info` lists them.");
    if (first.detail.empty() != second.detail.empty())
        found.warnings.emplace_back(
            "One of them lacks detail of some steps; what is compared is of those that have it.");
    if (!first.complete || !second.complete)
        found.warnings.push_back(
            !first.complete && !second.complete
                ? std::string("Neither recording was finalised; their last steps may be missing.")
                : fmt::format(
                      "The recording of {} was not finalised; its last steps may be missing.",
                      first.complete ? names.second : names.first));
    return found;
}

}  // namespace shardscope::analysis
