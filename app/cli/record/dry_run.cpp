#include "app/cli/answers/answer_text.h"
#include "app/cli/console.h"
#include "app/cli/record/record_modes.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/host_list.h"
#include "engine/run/config/model_tensors.h"
#include "engine/run/config/run_commands.h"
#include "engine/run/config/run_settings.h"
#include "engine/run/theory/theory.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using questions::Cell;
using questions::Table;
using theory::MemoryByCategory;
using theory::Moment;

std::string megabytes(Bytes bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes.count) * 1e-6);
}

Bytes peakOf(const run::RunConfig& config) {
    return theory::total(theory::memoryTheory(config));
}

Bytes togetherOf(const run::RunConfig& config) {
    return {config.ranks * peakOf(config).count};
}

/// Moments side by side, categories below each other; empty ones are left out.
Table momentsTable(const run::RunConfig& config) {
    Table table{"moments", "", {{"category", "MB per rank"}}, {}};
    std::vector<MemoryByCategory> columns;
    for (const Moment moment : kAll<theory::Moment>) {
        table.columns.push_back({toWord(moment), toWord(moment)});
        columns.push_back(theory::memoryAt(config, moment));
    }
    const auto add = [&](const char* name, const auto& bytesIn) {
        std::vector<Cell> row{name};
        for (const MemoryByCategory& column : columns) row.emplace_back(megabytes(bytesIn(column)));
        table.rows.push_back(std::move(row));
    };
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const auto bytesIn = [i](const MemoryByCategory& column) {
            return column[static_cast<std::size_t>(i)];
        };
        if (std::any_of(columns.begin(), columns.end(),
                        [&](const auto& column) { return bytesIn(column).count != 0; }))
            add(toWord(static_cast<MemoryCategory>(i)), bytesIn);
    }
    add("together", [](const MemoryByCategory& column) { return theory::total(column); });
    return table;
}

std::string ranksNeed(const run::RunConfig& config, std::int32_t ranks) {
    return fmt::format("{} {} {} together", counted(ranks, "rank"), ranks == 1 ? "needs" : "need",
                       sizeText(Bytes{ranks * peakOf(config).count}));
}

/// Hosts are asked when a run starts.
std::vector<std::string> needsOfHosts(const run::RunConfig& config) {
    const run::RankPlaces places = run::placesOf(config);
    const std::vector<run::HostConfig> hosts = run::hostsOf(config);
    std::vector<std::string> needs{
        "whether it fits is unknown: the hosts' memory is checked when the run starts; "
        "`shardscope doctor --hosts` shows it"};
    for (std::int32_t host = 0; host < places.hosts(); ++host)
        needs.push_back(hosts[static_cast<std::size_t>(host)].name + ": " +
                        ranksNeed(config, places.ranksOf(host)));
    return needs;
}

std::vector<std::string> verdict(const run::RunConfig& config, std::optional<Bytes> available) {
    if (!config.hosts.empty()) return needsOfHosts(config);
    if (!available)
        return {
            "whether it fits is unknown: the memory of the GPUs was not queried; `shardscope "
            "doctor` shows it"};
    const bool fits = togetherOf(config).count <= available->count;
    return {fmt::format("{}: {}, {} are available here", fits ? "fits" : "does not fit",
                        ranksNeed(config, config.ranks), sizeText(*available))};
}

std::string flopsText(const run::RunConfig& config) {
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kFull);
    return fmt::format(
        "{:.1f} (palm); forward: qkv {:.1f}, attention {:.1f}, projection {:.1f}, feed-forward "
        "{:.1f}, head {:.1f}",
        theory::palmFlopsPerToken(config.model) * 1e-6, flops.qkv * 1e-6, flops.attention * 1e-6,
        flops.projection * 1e-6, flops.feedForward * 1e-6, flops.head * 1e-6);
}

std::vector<questions::Figure> figuresOf(const run::RunConfig& config) {
    std::vector<questions::Figure> figures;
    const auto add = [&](const char* title, std::string text) {
        figures.push_back({{title, title}, std::move(text)});
    };
    add("state per rank", fmt::format("{} MB, peak in: {}", megabytes(theory::stateTheory(config)),
                                      toWord(theory::peakMoment(config))));
    if (const auto pieces = run::vocabularyPieces(config); pieces.count > 0)
        add("token table, head",
            fmt::format(
                "in {} of {} rows, gathered one by one",
                pieces.count == 1 ? "one piece each" : fmt::format("{} pieces", pieces.count),
                pieces.rows));
    if (config.offload != run::Offload::kNone)
        add("of it on the host", megabytes(theory::hostStateTheory(config)) + " MB");
    add("traffic per rank", megabytes(theory::trafficPerStep(config)) + " MB per step");
    add("MFLOP per token", flopsText(config));
    return figures;
}

/// By theory, what ranks hold at each moment, and with another kernel of attention.
questions::Answer memoryOf(const run::RunConfig& config) {
    questions::Answer answer;
    answer.tables.push_back(momentsTable(config));
    const auto choices = theory::kernelChoices(config);
    for (std::size_t i = 1; i < choices.size(); ++i)
        answer.sentences.push_back(fmt::format(
            "at most {} MB with {} attention: ranks take the faster kernel when they start",
            megabytes(theory::total(theory::memoryTheory(config, choices[i]))),
            choices[i].attention()));
    return answer;
}

/// What settings of others may only name if they are allowed to.
questions::Answer commandsAnswer(const run::RunConfig& config) {
    questions::Answer answer;
    for (const run::RunCommand& command : run::commandsOf(config))
        answer.sentences.push_back(fmt::format("{}: {}", command.what, command.value));
    return answer;
}

Json commandsJson(const run::RunConfig& config) {
    Json commands = Json::array();
    for (const run::RunCommand& command : run::commandsOf(config))
        commands.push_back(
            {{"option", command.key}, {"what", command.what}, {"value", command.value}});
    return commands;
}

}  // namespace

std::string dryRunText(const run::RunConfig& config, std::optional<Bytes> available) {
    constexpr const char* kCommands = "Other programs, libraries and places of programs";
    const questions::Answer commands = commandsAnswer(config);
    questions::Answer first, last;
    first.figures = figuresOf(config);
    last.sentences = verdict(config, available);
    last.sentences.emplace_back("The program itself and its libraries come on top.");
    return sectionText(fmt::format("{} with {} on {} in {}: {} parameters, {} tokens per step",
                                   run::modelTitle(config.model), toWord(config.strategy),
                                   counted(config.ranks, "rank"), toWord(config.precision),
                                   countText(theory::parameterCount(config.model)),
                                   countText(theory::tokensPerStep(config))),
                       first) +
           '\n' +
           sectionText(
               fmt::format("By theory, every rank 0 to {} alike, {} attention", config.ranks - 1,
                           theory::kernelChoices(config).front().attention()),
               memoryOf(config)) +
           '\n' + (commands.sentences.empty() ? "" : sectionText(kCommands, commands) + '\n') +
           answerText(last, 0);
}

std::string dryRunJson(const run::RunConfig& config, std::optional<Bytes> available) {
    Json moments = Json::object();
    for (const Moment moment : kAll<theory::Moment>) {
        const MemoryByCategory memory = theory::memoryAt(config, moment);
        Json& json = moments[toWord(moment)];
        for (int i = 0; i < kMemoryCategoryCount; ++i)
            json[toWord(static_cast<MemoryCategory>(i))] =
                memory[static_cast<std::size_t>(i)].count;
        json["together"] = theory::total(memory).count;
    }
    Json byAttention = Json::object();
    for (const theory::KernelChoice& choice : theory::kernelChoices(config))
        byAttention[choice.attention()] = theory::total(theory::memoryTheory(config, choice)).count;
    Json ranks = Json::array();
    for (std::int32_t rank = 0; rank < config.ranks; ++rank)
        ranks.push_back({{"rank", rank}, {"peak_bytes", peakOf(config).count}});
    Json json = {{"schema", "shardscope.dry_run/1"},
                 {"parameters", theory::parameterCount(config.model)},
                 {"state_bytes", theory::stateTheory(config).count},
                 {"vocabulary_pieces", run::vocabularyPieces(config).count},
                 {"host_state_bytes", theory::hostStateTheory(config).count},
                 {"traffic_bytes_per_step", theory::trafficPerStep(config).count},
                 {"palm_flops_per_token", theory::palmFlopsPerToken(config.model)},
                 {"peak_moment", toWord(theory::peakMoment(config))},
                 {"moments_bytes", std::move(moments)},
                 {"ranks", std::move(ranks)},
                 {"peak_bytes_by_attention", std::move(byAttention)},
                 {"needed_bytes", togetherOf(config).count}};
    json["available_bytes"] = available ? Json(available->count) : Json();
    json["fits"] = available ? Json(togetherOf(config).count <= available->count) : Json();
    json["commands"] = commandsJson(config);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int runDry(const run::RunConfig& config, bool json) {
    const bool here = config.device == run::Device::kCpu && config.hosts.empty();
    const std::optional<Bytes> available = here ? launch::freeMemory() : std::nullopt;
    return printLast(json ? dryRunJson(config, available) + '\n' : dryRunText(config, available));
}

}  // namespace shardscope::cli
