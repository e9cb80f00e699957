#include "app/desktop/models/run_field_rules.h"

#include "engine/control/run_fields.h"
#include "engine/control/vocabulary_pieces.h"

#include <algorithm>
#include <array>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using control::RunConfig;
using control::Strategy;

bool isZero3(const RunConfig& c) {
    return c.strategy == Strategy::kZero3 || c.strategy == Strategy::kHsdp;
}

QString whyNoReduction(const RunConfig& c) {
    if (c.precision != control::Precision::kBFloat16) return u"needs precision bf16"_s;
    if (control::isDdp(c.strategy) || c.strategy == Strategy::kZero1)
        return u"fp32 with this strategy"_s;
    if (isZero3(c) && (c.keepGathered || c.keepGradients)) return u"fp32 where gradients stay"_s;
    return {};
}

QString whyNotOfStrategy(const RunConfig& c, std::string_view key) {
    const bool zero3 = isZero3(c);
    if (key == "ranks" && c.strategy == Strategy::kSingle) return u"one with this strategy"_s;
    if (key == "bucket_mb" && c.strategy != Strategy::kDdpBucket) return u"DDP with buckets only"_s;
    if (key == "shard_ranks" && c.strategy != Strategy::kHsdp) return u"HSDP only"_s;
    if (!zero3 && (key == "prefetch" || key == "reshard_after_forward" || key == "keep_gathered" ||
                   key == "keep_gradients"))
        return u"ZeRO-3 and HSDP only"_s;
    if (key == "vocabulary_pieces") {
        if (!zero3) return u"ZeRO-3 and HSDP only"_s;
        if (!control::mayCutVocabulary(c)) return u"needs blocks to be freed"_s;
    }
    if (key == "compress" && !control::isDdp(c.strategy)) return u"DDP only"_s;
    if (key == "kept_fraction" && c.compression != control::Compression::kTopK)
        return u"needs top-k"_s;
    return {};
}

QString whyNotOfDevice(const RunConfig& c, std::string_view key) {
    const bool cuda = c.device == control::Device::kCuda;
    if (!cuda && (key == "share_device" || key == "device_capture" || key == "offload"))
        return u"GPUs only"_s;
    if (cuda && (key == "transport" || key == "link_gb_per_s" || key == "link_latency_us"))
        return u"CPU ranks only"_s;
    if (key == "link_latency_us" && c.linkGigabytesPerSecond == 0)
        return u"needs a modelled link"_s;
    if (key == "interface" && c.transport != control::Transport::kGloo) return u"Gloo only"_s;
    if (key == "reduce") return whyNoReduction(c);
    if (key == "loss_scale" && c.precision != control::Precision::kFloat16) return u"fp16 only"_s;
    return {};
}

QString whyNotOfTraining(const RunConfig& c, std::string_view key) {
    if (key == "minimum_learning_rate" && c.schedule == control::Schedule::kConstant)
        return u"a constant rate stays"_s;
    const bool never = c.evaluateEvery == 0;
    if (never && (key == "evaluate_batches" || key == "sample")) return u"needs validation"_s;
    if ((key == "prompt" || key == "temperature") && c.sampleTokens == 0)
        return u"needs a sample"_s;
    if (c.checkpoint.empty() && (key == "checkpoint_every" || key == "keep_checkpoints"))
        return u"needs a folder"_s;
    if (key == "decay_vectors" && !c.decayEmbeddings) return u"needs decay of embeddings"_s;
    return {};
}

/// What control::validate() refuses where it does not apply; the rest is without effect then.
constexpr std::array<std::string_view, 17> kRefused = {"offload",          "vocabulary_pieces",
                                                       "shard_ranks",      "reshard_after_forward",
                                                       "keep_gathered",    "keep_gradients",
                                                       "compress",         "share_device",
                                                       "device_capture",   "transport",
                                                       "link_gb_per_s",    "interface",
                                                       "link_latency_us",  "reduce",
                                                       "checkpoint_every", "sample",
                                                       "decay_vectors"};

bool isRefused(std::string_view key) {
    return std::find(kRefused.begin(), kRefused.end(), key) != kRefused.end();
}

}  // namespace

QString whyNot(const RunConfig& config, std::string_view key) {
    for (const auto& rule : {whyNotOfStrategy, whyNotOfDevice, whyNotOfTraining}) {
        if (QString reason = rule(config, key); !reason.isEmpty()) return reason;
    }
    return {};
}

RunConfig settled(RunConfig config, const RunConfig& base) {
    const RunConfig standard;
    for (const control::RunField& field : control::runFields()) {
        if (whyNot(config, field.key).isEmpty()) continue;
        // Values of the field's own type: they are never refused.
        static_cast<void>(field.set(config, field.get(isRefused(field.key) ? standard : base)));
    }
    if (config.strategy == Strategy::kSingle) config.ranks = 1;
    if (config.schedule == control::Schedule::kConstant)
        config.minimumLearningRate = std::min(config.minimumLearningRate, config.learningRate);
    return config;
}

}  // namespace shardscope::desktop
