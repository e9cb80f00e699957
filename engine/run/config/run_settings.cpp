#include "engine/run/config/run_settings.h"

#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <utility>

namespace shardscope::run {

std::string modelTitle(const ModelConfig& model) {
    const auto preset = findModelPreset(model.name);
    return preset && *preset != model ? "changed " + model.name : model.name;
}

bool holdsBytes(const ModelConfig& model) {
    constexpr std::int64_t kByteValues = 256;
    return model.vocabulary >= kByteValues;
}

std::vector<Setting> settingsOf(const RunConfig& config) {
    std::vector<Setting> settings{
        {"batch", fmt::format("{} x {} tokens per {}, {} per step",
                              counted(config.batch, "sequence"), grouped(config.model.context),
                              config.tensor > 1 ? fmt::format("{} ranks", config.tensor) : "rank",
                              counted(config.accumulate, "micro-step"))},
        {"precision", toWord(config.precision)},
        {"data", !config.data.empty()       ? config.data
                 : holdsBytes(config.model) ? "the project's own source tree"
                                            : kSyntheticData},
        {"seed", std::to_string(config.seed)},
    };
    if (config.tensor > 1)
        settings.push_back(
            {"layers", fmt::format("each shared by {} ranks{}", config.tensor,
                                   config.sequence ? ", with sequence parallelism" : "")});
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
    return fmt::format("modelled: {} µs, {} GB/s", config.linkLatencyMicroseconds,
                       config.linkGigabytesPerSecond);
}

}  // namespace shardscope::run
