#include "engine/control/run_config.h"

#include <fmt/format.h>

#include <cmath>

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
        {"ranks", real(c.ranks), 1, 1024},
        {"threads", real(c.threads), 1, 1024},
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
        {"collective-timeout", real(c.collectiveTimeout), 1, 86'400},
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

}  // namespace

const std::vector<ModelConfig>& modelPresets() {
    static const std::vector<ModelConfig> kPresets = {
        {"tiny", 64, 32, 2, 2, 32},
        {"shakespeare", 256, 128, 6, 6, 384},
        {"ref", 50'257, 512, 12, 16, 1024},
        {"small", 10'000, 128, 12, 12, 768},
        {"medium", 10'000, 128, 24, 16, 1024},
        {"large", 10'000, 128, 36, 20, 1280},
        {"xl", 10'000, 128, 48, 25, 1600},
        {"2.7B", 10'000, 128, 32, 32, 2560},
    };
    return kPresets;
}

std::optional<ModelConfig> findModelPreset(std::string_view name) {
    for (const ModelConfig& preset : modelPresets()) {
        if (preset.name == name) return preset;
    }
    return std::nullopt;
}

namespace {

/// The words of an enumeration, in the order in which they are suggested.
template <class E>
struct Word {
    E value;
    const char* text;
};
constexpr Word<Strategy> kStrategies[] = {{Strategy::kSingle, "single"},
                                          {Strategy::kZero3, "zero3"}};
constexpr Word<Device> kDevices[] = {{Device::kCpu, "cpu"}, {Device::kCuda, "cuda"}};
constexpr Word<Precision> kPrecisions[] = {
    {Precision::kFloat32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kBFloat16, "bf16"}};
constexpr Word<GradientType> kGradientTypes[] = {{GradientType::kFloat32, "fp32"},
                                                 {GradientType::kBFloat16, "bf16"}};
constexpr Word<DeviceCapture> kDeviceCaptures[] = {
    {DeviceCapture::kAuto, "auto"},         {DeviceCapture::kNever, "never"},
    {DeviceCapture::kIdle, "idle"},         {DeviceCapture::kKernels, "kernels"},
    {DeviceCapture::kLaunches, "launches"}, {DeviceCapture::kFull, "full"}};
constexpr Word<CaptureLevel> kCaptureLevels[] = {{CaptureLevel::kOff, "off"},
                                                 {CaptureLevel::kSteps, "steps"},
                                                 {CaptureLevel::kLight, "light"},
                                                 {CaptureLevel::kFull, "full"}};

template <class E, std::size_t N>
const char* wordOf(const Word<E> (&words)[N], E value) {
    for (const Word<E>& word : words) {
        if (word.value == value) return word.text;
    }
    return "unknown";
}

template <class E, std::size_t N>
std::optional<E> parse(const Word<E> (&words)[N], std::string_view text) {
    for (const Word<E>& word : words) {
        if (text == word.text) return word.value;
    }
    return std::nullopt;
}

}  // namespace

const char* toWord(Strategy strategy) {
    return wordOf(kStrategies, strategy);
}
const char* toWord(Device device) {
    return wordOf(kDevices, device);
}
const char* toWord(Precision precision) {
    return wordOf(kPrecisions, precision);
}
const char* toWord(GradientType type) {
    return wordOf(kGradientTypes, type);
}
const char* toWord(DeviceCapture capture) {
    return wordOf(kDeviceCaptures, capture);
}
const char* toWord(CaptureLevel level) {
    return wordOf(kCaptureLevels, level);
}

std::optional<Strategy> parseStrategy(std::string_view word) {
    return parse(kStrategies, word);
}
std::optional<Device> parseDevice(std::string_view word) {
    return parse(kDevices, word);
}
std::optional<Precision> parsePrecision(std::string_view word) {
    return parse(kPrecisions, word);
}
std::optional<GradientType> parseGradientType(std::string_view word) {
    return parse(kGradientTypes, word);
}
std::optional<DeviceCapture> parseDeviceCapture(std::string_view word) {
    return parse(kDeviceCaptures, word);
}
std::optional<CaptureLevel> parseCaptureLevel(std::string_view word) {
    return parse(kCaptureLevels, word);
}

DeviceCapture effectiveDeviceCapture(const RunConfig& config) {
    if (config.device != Device::kCuda) return DeviceCapture::kNever;
    if (config.deviceCapture != DeviceCapture::kAuto) return config.deviceCapture;
    switch (config.capture) {
        case CaptureLevel::kFull:
            return DeviceCapture::kFull;
        case CaptureLevel::kLight:
            return DeviceCapture::kKernels;
        default:
            return DeviceCapture::kNever;
    }
}

namespace {

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
    if (!cuda && (c.shareDevice || c.deviceCapture != DeviceCapture::kAuto)) {
        return failure(ErrorCode::kUsage,
                       fmt::format("{} is about GPUs; add --device cuda or leave it out",
                                   c.shareDevice ? "--share-device" : "--device-capture"));
    }
    return {};
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
    if (auto device = checkDevice(c); !device) return device;
    if (c.strategy == Strategy::kSingle && c.ranks != 1) {
        return failure(ErrorCode::kUsage,
                       fmt::format("strategy single trains on one rank, not on {}; use --ranks 1 "
                                   "or --strategy zero3",
                                   c.ranks));
    }
    if (c.learningRate == 0 || c.minimumLearningRate > c.learningRate) {
        return failure(ErrorCode::kUsage,
                       fmt::format("learning rate {} must be above 0 and not below its minimum {}; "
                                   "change --lr or --min-lr",
                                   c.learningRate, c.minimumLearningRate));
    }
    if (!c.reference.empty()) return {};
    if (c.model.vocabulary < 256) {
        return failure(ErrorCode::kUsage,
                       fmt::format("vocabulary {} is too small: data is read as bytes, which need "
                                   "--vocabulary 256 or more",
                                   c.model.vocabulary));
    }
    if (c.evaluateEvery > 0 && c.heldBack == 0) {
        return failure(ErrorCode::kUsage,
                       "nothing is held back for validation; use --held-back 0.1 or "
                       "--evaluate-every 0");
    }
    return {};
}

}  // namespace shardscope::control
