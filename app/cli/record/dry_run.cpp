#include "app/cli/record/dry_run.h"

#include "app/cli/answers/report_table.h"
#include "app/cli/console.h"
#include "engine/launch/host_facts.h"
#include "engine/run/config/host_list.h"
#include "engine/run/config/model_tensors.h"
#include "engine/run/theory/theory.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;
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
std::string momentsTable(const run::RunConfig& config) {
    std::vector<std::string> header{"MB per rank"};
    std::vector<MemoryByCategory> columns;
    for (const Moment moment : kAll<theory::Moment>) {
        header.emplace_back(toWord(moment));
        columns.push_back(theory::memoryAt(config, moment));
    }
    TextTable table(header);
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        std::vector<std::string> row{toWord(static_cast<MemoryCategory>(i))};
        bool any = false;
        for (const MemoryByCategory& column : columns) {
            const Bytes bytes = column[static_cast<std::size_t>(i)];
            any = any || bytes.count != 0;
            row.push_back(megabytes(bytes));
        }
        if (any) table.add(row);
    }
    std::vector<std::string> sums{"together"};
    for (const MemoryByCategory& column : columns) sums.push_back(megabytes(theory::total(column)));
    table.add(sums);
    return table.text("  ");
}

/// Hosts are asked when a run starts.
std::string verdictOfHosts(const run::RunConfig& config) {
    const run::RankPlaces places = run::placesOf(config);
    const std::vector<run::HostConfig> hosts = run::hostsOf(config);
    std::string text =
        "whether it fits   unknown: the hosts' memory is checked when the run starts; "
        "`shardscope doctor --hosts` shows it";
    for (std::int32_t host = 0; host < places.hosts(); ++host) {
        const std::int32_t ranks = places.ranksOf(host);
        text +=
            fmt::format("\n  {:16}{} {} {} together", hosts[static_cast<std::size_t>(host)].name,
                        ranks, ranks == 1 ? "rank needs" : "ranks need",
                        sizeText(Bytes{ranks * peakOf(config).count}));
    }
    return text;
}

std::string verdict(const run::RunConfig& config, std::optional<Bytes> available) {
    if (!config.hosts.empty()) return verdictOfHosts(config);
    if (!available)
        return "whether it fits   unknown: the memory of the GPUs was not queried; "
               "`shardscope doctor` shows it";
    const bool fits = togetherOf(config).count <= available->count;
    return fmt::format("{}: {} ranks need {} together, {} are available here",
                       fits ? "fits" : "does not fit", config.ranks, sizeText(togetherOf(config)),
                       sizeText(*available));
}

}  // namespace

std::string dryRunText(const run::RunConfig& config, std::optional<Bytes> available) {
    const auto flops = theory::forwardFlopsPerToken(config.model, theory::AttentionCount::kFull);
    std::string text =
        fmt::format("{} with {} on {} {} in {}: {} parameters, {} tokens per step\n",
                    config.model.name, toWord(config.strategy), config.ranks,
                    config.ranks == 1 ? "rank" : "ranks", toWord(config.precision),
                    theory::parameterCount(config.model), theory::tokensPerStep(config));
    text += fmt::format("state per rank     {} MB, peak in: {}\n",
                        megabytes(theory::stateTheory(config)), toWord(theory::peakMoment(config)));
    if (const auto pieces = run::vocabularyPieces(config); pieces.count > 0)
        text += fmt::format(
            "token table, head  in {} of {} rows, gathered one by one\n",
            pieces.count == 1 ? "one piece each" : fmt::format("{} pieces", pieces.count),
            pieces.rows);
    if (config.offload != run::Offload::kNone)
        text +=
            fmt::format("of it on the host  {} MB\n", megabytes(theory::hostStateTheory(config)));
    text += fmt::format("traffic per rank   {} MB per step\n",
                        megabytes(theory::trafficPerStep(config)));
    text += fmt::format(
        "MFLOP per token    {:.1f} (palm); forward: qkv {:.1f}, attention {:.1f}, projection "
        "{:.1f}, feed-forward {:.1f}, head {:.1f}\n",
        theory::palmFlopsPerToken(config.model) * 1e-6, flops.qkv * 1e-6, flops.attention * 1e-6,
        flops.projection * 1e-6, flops.feedForward * 1e-6, flops.head * 1e-6);
    const auto choices = theory::kernelChoices(config);
    text += fmt::format("\nBy theory, every rank 0 to {} alike, {} attention\n{}\n",
                        config.ranks - 1, choices.front().attention(), momentsTable(config));
    for (std::size_t i = 1; i < choices.size(); ++i)
        text += fmt::format(
            "at most {} MB with {} attention: ranks take the faster kernel when they start\n",
            megabytes(theory::total(theory::memoryTheory(config, choices[i]))),
            choices[i].attention());
    return text + verdict(config, available) +
           "\nThe program itself and its libraries come on top.\n";
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
    return json.dump();
}

int runDry(const run::RunConfig& config, bool json) {
    const bool here = config.device == run::Device::kCpu && config.hosts.empty();
    const std::optional<Bytes> available = here ? launch::freeMemory() : std::nullopt;
    return printLast((json ? dryRunJson : dryRunText)(config, available) + '\n');
}

}  // namespace shardscope::cli
