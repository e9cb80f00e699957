#include "profiler/analysis/compare/grounds.h"

#include "engine/run/config/run_config.h"
#include "storage/model/run_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

/// The option that fixes a kernel, as it would have to be given to get `value`.
std::string optionFor(Fact fact, const std::string& value) {
    if (fact == Fact::kProducts)
        for (const auto& each : wordsOf(run::Products{}))
            if (value == each.name) return std::string("--products ") + each.word;
    if (fact == Fact::kAttention && value.find(' ') == std::string::npos)
        return "--attention " + value;
    return {};
}

/// Whether the run chose it by itself when it started.
bool isChosen(const RecordingSummary& summary, Fact fact) {
    const auto config = run::parseRunConfigJson(summary.run.configJson);
    if (!config) return false;
    const bool device = config->device == run::Device::kCuda;
    if (fact == Fact::kProducts) return !device && config->products == run::Products::kAuto;
    if (fact == Fact::kNarrowProducts) return true;
    if (fact == Fact::kAttention) return config->attention == run::Attention::kAuto;
    return false;
}

struct Differing {
    const FactWords* fact = nullptr;
    std::string first, second;
    [[nodiscard]] std::string text() const {
        return fmt::format("{} {} / {}", fact->title, first, second);
    }
};

std::vector<Differing> differing(const RecordingSummary& first, const RecordingSummary& second) {
    std::vector<Differing> found;
    for (const Fact fact : kAll<Fact>) {
        const FactWords& words = *entryOf(fact);
        if (words.effect == FactEffect::kMoment) continue;
        std::string one = factText(first.facts, fact), other = factText(second.facts, fact);
        if (one.empty() || other.empty() || one == other) continue;
        found.push_back({&words, std::move(one), std::move(other)});
    }
    return found;
}

void addFacts(const RecordingSummary& first, const RecordingSummary& second, Grounds& grounds) {
    std::vector<std::string> machine;
    for (const Differing& each : differing(first, second)) {
        if (each.fact->effect == FactEffect::kMachine) {
            machine.push_back(each.text());
            continue;
        }
        std::string sentence = fmt::format(
            "They compute differently ({}): time and memory differ by it.", each.text());
        const std::string option = optionFor(each.fact->value, each.second);
        const bool chosen = isChosen(first, each.fact->value) || isChosen(second, each.fact->value);
        if (chosen && !option.empty())
            sentence += fmt::format(" Record both with {} to compare them.", option);
        grounds.sentences.push_back(std::move(sentence));
        if (!chosen) continue;
        grounds.time = TimeBasis::kNone;
        grounds.memory = false;
        grounds.timeReason = grounds.memoryReason =
            fmt::format("kernels were chosen when the runs started ({})", each.text());
    }
    if (!machine.empty())
        grounds.sentences.push_back(fmt::format("Machines differ: {}.", fmt::join(machine, ", ")));
}

std::string takenText(const CoreUse& first, const CoreUse& second, const SideNames& names) {
    const auto text = [](const CoreUse& use) {
        return use.known() ? fmt::format("{:.0f} %", 100 * use.takenOfSteps())
                           : std::string("an unknown part");
    };
    return fmt::format("cores were taken for {} of the step time of {} and {} of that of {}",
                       text(first), names.first, text(second), names.second);
}

void addCores(const CoreUse& first, const CoreUse& second, const SideNames& names,
              Grounds& grounds) {
    const double most = std::max(first.takenOfSteps(), second.takenOfSteps());
    if (most < kFewTaken || grounds.time == TimeBasis::kNone) return;
    const bool known = first.known() && second.known();
    grounds.time = known && most < kManyTaken ? TimeBasis::kRunning : TimeBasis::kNone;
    grounds.timeReason = takenText(first, second, names);
}

}  // namespace

Grounds groundsOf(const RunMachine& first, const RunMachine& second, const SideNames& names) {
    Grounds grounds;
    addFacts(*first.summary, *second.summary, grounds);
    addCores(first.cores, second.cores, names, grounds);
    return grounds;
}

Grounds& Grounds::operator+=(const Grounds& other) {
    if (other.time > time) {
        time = other.time;
        timeReason = other.timeReason;
    }
    if (memory && !other.memory) {
        memory = false;
        memoryReason = other.memoryReason;
    }
    for (const std::string& sentence : other.sentences)
        if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
            sentences.push_back(sentence);
    return *this;
}

}  // namespace shardscope::analysis
