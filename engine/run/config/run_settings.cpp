#include "engine/run/config/run_settings.h"

#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <utility>

namespace shardscope::run {

std::vector<Setting> settingsOf(const RunConfig& config) {
    std::vector<Setting> settings{
        {"batch", fmt::format("{} sequences x {} tokens per rank, {} micro-step{} per step",
                              config.batch, grouped(config.model.context), config.accumulate,
                              config.accumulate == 1 ? "" : "s")},
        {"precision", toWord(config.precision)},
        {"data", config.data.empty() ? "the project's own source tree" : config.data},
        {"seed", std::to_string(config.seed)},
    };
    // What is said of model, strategy and batch is not what such a run did.
    if (config.work != Work::kTraining)
        settings.insert(settings.begin(), {"work", "measuring the machine: nothing was trained"});
    // settled before a run starts; not so in old recordings
    if (config.threads > 0)
        settings.push_back({"threads", fmt::format("{} per rank", config.threads)});
    settings.push_back({"capture", toWord(config.capture)});
    if (std::string link = modelledLink(config); !link.empty())
        settings.push_back({"link", std::move(link)});
    return settings;
}

RunConfig withChosenKernels(RunConfig config, const std::vector<FactRow>& facts) {
    const auto attention = fromWord<Attention>(factText(facts, Fact::kAttention));
    if (config.attention == Attention::kAuto && attention) config.attention = *attention;
    return config;
}

std::string modelledLink(const RunConfig& config) {
    if (config.linkGigabytesPerSecond <= 0) return {};
    return fmt::format("modelled: {} us, {} GB/s", config.linkLatencyMicroseconds,
                       config.linkGigabytesPerSecond);
}

}  // namespace shardscope::run
