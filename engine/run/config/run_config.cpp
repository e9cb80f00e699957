#include "engine/run/config/run_config.h"

namespace shardscope::run {

RunConfig::RunConfig() = default;

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

SizeLimit sizeLimitOf(const RunConfig& config) {
    const auto known = [](const Result<Bytes>& parsed) {
        return parsed ? std::optional(*parsed) : std::nullopt;
    };
    SizeLimit limit;
    limit.most = known(parseSize(config.maxSize));
    limit.mostEverySecond = known(parseRate(config.maxRate));
    return limit;
}

std::vector<HostConfig> hostsOf(const RunConfig& config) {
    if (isHostFile(config.hosts)) return {};
    return parseHosts(config.hosts).value_or(std::vector<HostConfig>());
}

RankPlaces placesOf(const RunConfig& config) {
    return placeRanks(hostsOf(config), config.ranks).value_or(RankPlaces::onOneHost(config.ranks));
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

}  // namespace shardscope::run
