// What a run may be: validate() and the sentences it refuses with.
#include "engine/control/capture_schedule.h"
#include "engine/control/model_tensors.h"
#include "engine/control/run_config.h"
#include "engine/control/vocabulary_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardscope::control {
namespace {

struct Limit {
    const char* name;
    double value;
    double least;
    double most;
};

Result<void> checkLimits(const RunConfig& c) {
    const auto real = [](auto number) { return static_cast<double>(number); };
    const Limit limits[] = {
        {"vocabulary", real(c.model.vocabulary), 2, 1 << 24},
        {"context", real(c.model.context), 1, 1 << 20},
        {"layers", real(c.model.layers), 1, 32'767},
        {"heads", real(c.model.heads), 1, 1 << 16},
        {"hidden", real(c.model.hidden), 1, 1 << 20},
        {"ffn-width", real(c.model.ffnWidth), 0, 1 << 24},
        {"ranks", real(c.ranks), 1, 1024},
        {"threads", real(c.threads), 0, 1024},
        {"held-back", c.heldBack, 0, 0.9},
        {"steps", real(c.steps), 1, 2e9},
        {"batch", real(c.batch), 1, 1 << 20},
        {"accumulate", real(c.accumulate), 1, 1 << 20},
        {"evaluate-every", real(c.evaluateEvery), 0, 2e9},
        {"evaluate-batches", real(c.evaluateBatches), 1, 1 << 20},
        {"lr", c.learningRate, 0, 1e3},
        {"min-lr", c.minimumLearningRate, 0, 1e3},
        {"warmup", real(c.warmupSteps), 0, 2e9},
        {"weight-decay", c.weightDecay, 0, 1e3},
        {"beta1", c.beta1, 0, 0.999999999},
        {"beta2", c.beta2, 0, 0.999999999},
        {"epsilon", c.epsilon, 1e-30, 1},
        {"clip", c.clip, 0, 1e12},
        {"seed", real(c.seed), 0, 9.2e18},
        {"prefetch", real(c.prefetch), 0, 32'767},
        {"bucket-mb", c.bucketMegabytes, 1e-6, 1 << 20},
        {"shard-ranks", real(c.shardRanks), 0, 1024},
        {"vocabulary-pieces", real(c.vocabularyPieces), 0, 1024},
        {"kept-fraction", c.keptFraction, 1e-6, 1},
        {"recompute-every", real(c.recomputeEvery), 0, 32'767},
        {"loss-scale", c.lossScale, 1, 1e9},
        {"link-latency-us", c.linkLatencyMicroseconds, 0, 1e7},
        {"link-gb-per-s", c.linkGigabytesPerSecond, 0, 1e6},
        {"checkpoint-every", real(c.checkpointEvery), 0, 2e9},
        {"keep-checkpoints", real(c.keepCheckpoints), 1, 1e6},
        {"sample", real(c.sampleTokens), 0, 1 << 20},
        {"temperature", c.temperature, 0, 100},
        {"collective-timeout", real(c.collectiveTimeout), 1, 86'400},
        {"capture-every", real(c.captureEvery), 0, 2e9},
    };
    for (const Limit& limit : limits) {
        // Written so that NaN fails too.
        if (limit.value >= limit.least && limit.value <= limit.most) continue;
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is {}; give a value from {} to {}", limit.name, limit.value,
                                   limit.least, limit.most));
    }
    return {};
}

Result<void> checkDevice(const RunConfig& c) {
    const bool cuda = c.device == Device::kCuda;
    if (c.precision == Precision::kTf32 && !cuda) {
        return failure(
            ErrorCode::kUsage,
            "precision tf32 exists on GPUs only; use --precision fp32, or --device cuda");
    }
    if (c.reduceIn == GradientType::kBFloat16 && c.precision != Precision::kBFloat16) {
        return failure(ErrorCode::kUsage,
                       fmt::format("gradients are not computed in bf16 at --precision {}; use "
                                   "--reduce fp32 or --precision bf16",
                                   toWord(c.precision)));
    }
    // An all-reduce over shared memory takes fp32 only, and stage 1 keeps its gradients in fp32.
    const bool wholeGradients = isDdp(c.strategy) || c.strategy == Strategy::kZero1;
    const bool kept = c.keepGathered || c.keepGradients;
    if (c.reduceIn == GradientType::kBFloat16 && kept) {
        return failure(ErrorCode::kUsage,
                       "gradients that are kept whole over micro-steps are summed in fp32; use "
                       "--reduce fp32, or leave out --keep-gathered and --keep-gradients");
    }
    if (c.reduceIn == GradientType::kBFloat16 && wholeGradients) {
        return failure(ErrorCode::kUsage,
                       fmt::format("strategy {} sums gradients in fp32; use --reduce fp32, or "
                                   "--strategy zero2 or zero3",
                                   toWord(c.strategy)));
    }
    if (cuda && (c.transport != Transport::kAuto || c.linkGigabytesPerSecond > 0)) {
        return failure(ErrorCode::kUsage,
                       "--transport and a modelled link are about CPU ranks; GPU ranks talk over "
                       "NCCL: leave them out, or use --device cpu");
    }
    if (c.linkLatencyMicroseconds > 0 && c.linkGigabytesPerSecond == 0) {
        return failure(ErrorCode::kUsage,
                       "--link-latency-us needs a bandwidth; add --link-gb-per-s");
    }
    if (!cuda && (c.shareDevice || c.deviceCapture != DeviceCapture::kAuto)) {
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is about GPUs; add --device cuda or leave it out",
                                   c.shareDevice ? "--share-device" : "--device-capture"));
    }
    return {};
}

/// What is captured of which step, and how much of it is kept.
Result<void> checkCapture(const RunConfig& c) {
    if (auto schedule = CaptureSchedule::of(c); !schedule) return failure(schedule);
    if (c.captureSlow != 0 && !(c.captureSlow >= 1.05 && c.captureSlow <= 1e6))
        return failure(ErrorCode::kUsage,
                       fmt::format("--capture-slow {}: a slow step takes at least 1.05 times the "
                                   "median of those before; 1.5 is usual, 0 keeps all",
                                   c.captureSlow));
    auto limit = sizeLimitOf(c);
    if (!limit) return failure(limit);
    if (limit->most && *limit->most < SizeLimit::kLeast)
        return failure(ErrorCode::kUsage,
                       fmt::format("--max-size {}: a recording needs at least {}", c.maxSize,
                                   sizeText(SizeLimit::kLeast)));
    if (limit->mostEverySecond && *limit->mostEverySecond < SizeLimit::kLeastRate)
        return failure(ErrorCode::kUsage,
                       fmt::format("--max-rate {}: steps and metrics alone need about {}/s",
                                   c.maxRate, sizeText(SizeLimit::kLeastRate)));
    return {};
}

/// A shard is a cache line of floats at least.
Result<void> checkShardSize(const RunConfig& c) {
    constexpr std::int64_t kLeast = 16;
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    for (const ModelUnit& unit : modelUnits(c)) smallest = std::min(smallest, unit.count());
    const std::int64_t ranks = c.shardRanks > 0 ? c.shardRanks : c.ranks;
    if (smallest >= kLeast * ranks) return {};
    return failure(ErrorCode::kUsage,
                   fmt::format("{} ranks cannot share a layer of {} parameters; use --ranks {} or "
                               "fewer, or a larger model",
                               ranks, smallest, std::max<std::int64_t>(1, smallest / kLeast)));
}

Result<void> checkVocabularyPieces(const RunConfig& c) {
    if (c.vocabularyPieces <= 1) return {};
    if (!mayCutVocabulary(c))
        return failure(ErrorCode::kUsage,
                       "--vocabulary-pieces is about zero3 and hsdp that gather and reduce units "
                       "as they are needed; use --vocabulary-pieces 0, or leave out "
                       "--no-reshard-after-forward, --keep-gathered and --keep-gradients");
    if (c.vocabularyPieces <= c.model.vocabulary) return {};
    return failure(ErrorCode::kUsage,
                   fmt::format("--vocabulary-pieces {}: there are {} token kinds only; use that "
                               "many pieces or fewer",
                               c.vocabularyPieces, c.model.vocabulary));
}

Result<void> checkSharding(const RunConfig& c) {
    if (auto pieces = checkVocabularyPieces(c); !pieces) return pieces;
    if (c.strategy == Strategy::kHsdp) {
        if (c.shardRanks > 0 && c.shardRanks <= c.ranks && c.ranks % c.shardRanks == 0) return {};
        return failure(ErrorCode::kUsage,
                       fmt::format("--shard-ranks {} does not divide the {} ranks into groups; "
                                   "choose a divisor",
                                   c.shardRanks, c.ranks));
    }
    if (c.shardRanks != 0)
        return failure(ErrorCode::kUsage, fmt::format("--shard-ranks is about --strategy hsdp, not "
                                                      "{}; leave it out",
                                                      toWord(c.strategy)));
    const bool sharded = c.strategy == Strategy::kZero3;
    if (!sharded && (!c.reshardAfterForward || c.keepGathered || c.keepGradients))
        return failure(ErrorCode::kUsage,
                       fmt::format("--no-reshard-after-forward, --keep-gathered and "
                                   "--keep-gradients are about zero3 and hsdp, not {}; leave "
                                   "them out",
                                   toWord(c.strategy)));
    return {};
}

Result<void> checkOffload(const RunConfig& c) {
    if (c.offload == Offload::kNone) return {};
    if (c.device == Device::kCpu)
        return failure(ErrorCode::kUsage,
                       "--offload moves state from a GPU to host memory, where CPU ranks keep it "
                       "anyway; use --offload none or --device cuda");
    const bool sharded = c.strategy == Strategy::kZero2 ||
                         (c.strategy == Strategy::kZero3 && !c.keepGathered && !c.keepGradients);
    if (c.offload == Offload::kOptimizer || sharded) return {};
    return failure(ErrorCode::kUsage,
                   fmt::format("--offload gradients takes shards as they are reduced, which {} "
                               "does not have; use --strategy zero2 or zero3, or --offload "
                               "optimizer",
                               c.strategy == Strategy::kZero3 ? "keeping whole gradients"
                                                              : toWord(c.strategy)));
}

/// What would be asked for and never happen.
Result<void> checkIdle(const RunConfig& c) {
    if (!c.interface.empty() && c.transport != Transport::kGloo)
        return failure(ErrorCode::kUsage, "--interface is about --transport gloo; leave it out");
    if (c.checkpointEvery > 0 && c.checkpoint.empty())
        return failure(ErrorCode::kUsage,
                       "--checkpoint-every needs a folder; add --checkpoint DIR");
    if (c.sampleTokens > 0 && c.evaluateEvery == 0)
        return failure(ErrorCode::kUsage,
                       "--sample writes after validation passes, and there are none; add "
                       "--evaluate-every");
    return {};
}

Result<void> checkCompression(const RunConfig& c) {
    if (c.compression == Compression::kNone || isDdp(c.strategy)) return {};
    return failure(ErrorCode::kUsage,
                   fmt::format("--compress is about what ddp-* strategies send, not {}; leave it "
                               "out, or use --reduce bf16",
                               toWord(c.strategy)));
}

}  // namespace

Result<void> validate(const RunConfig& c) {
    if (auto within = checkLimits(c); !within) return within;
    if (c.model.hidden % c.model.heads != 0) {
        return failure(ErrorCode::kUsage,
                       fmt::format("hidden {} is not divisible by {} heads; choose --hidden as a "
                                   "multiple of --heads",
                                   c.model.hidden, c.model.heads));
    }
    if (c.model.position == Position::kRope && c.model.hidden / c.model.heads % 2 != 0) {
        return failure(ErrorCode::kUsage,
                       fmt::format("--position rope turns pairs, and a head has {} numbers here; "
                                   "choose --hidden and --heads so that it is even",
                                   c.model.hidden / c.model.heads));
    }
    if (auto device = checkDevice(c); !device) return device;
    if (auto capture = checkCapture(c); !capture) return capture;
    if (c.strategy == Strategy::kSingle && c.ranks != 1) {
        return failure(ErrorCode::kUsage,
                       fmt::format("strategy single trains on one rank, not on {}; use --ranks 1 "
                                   "or --strategy zero3",
                                   c.ranks));
    }
    if (auto sharding = checkSharding(c); !sharding) return sharding;
    if (auto size = checkShardSize(c); !size) return size;
    if (auto lossy = checkCompression(c); !lossy) return lossy;
    if (auto offload = checkOffload(c); !offload) return offload;
    if (auto idle = checkIdle(c); !idle) return idle;
    if (c.decayVectors && !c.decayEmbeddings) {
        return failure(ErrorCode::kUsage,
                       "--decay-vectors without decay on embeddings is not to be had: what decays "
                       "lies in front of what does not; leave out one of --decay-vectors and "
                       "--no-decay-embeddings");
    }
    if (c.learningRate == 0 || c.minimumLearningRate > c.learningRate) {
        return failure(ErrorCode::kUsage,
                       fmt::format("learning rate {} must be above 0 and not below its minimum {}; "
                                   "change --lr or --min-lr",
                                   c.learningRate, c.minimumLearningRate));
    }
    if (!c.reference.empty()) return {};
    if (c.model.vocabulary < 256 && c.data != kSyntheticData) {
        return failure(ErrorCode::kUsage,
                       fmt::format("vocabulary {} is too small: data is read as bytes, which need "
                                   "--vocabulary 256 or more; --data {} takes any",
                                   c.model.vocabulary, kSyntheticData));
    }
    if (c.evaluateEvery > 0 && c.heldBack == 0) {
        return failure(ErrorCode::kUsage,
                       "nothing is held back for validation; use --held-back 0.1 or "
                       "--evaluate-every 0");
    }
    return {};
}

}  // namespace shardscope::control
