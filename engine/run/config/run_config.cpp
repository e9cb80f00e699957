#include "engine/run/config/run_config.h"

#include "engine/run/config/run_option.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <type_traits>

namespace shardscope::run {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kModelPrefix = "model.";

Result<OptionValue> scalar(const Json& value) {
    if (value.is_boolean()) return OptionValue(value.get<bool>());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > 0x7FFFFFFFFFFFFFFFull) {
        return failure(ErrorCode::kUsage, "is out of range");
    }
    if (value.is_number_integer()) return OptionValue(value.get<std::int64_t>());
    if (value.is_number_float()) return OptionValue(value.get<double>());
    if (value.is_string()) return OptionValue(bytesOfUtf8(value.get<std::string>()));
    return failure(ErrorCode::kUsage, "must be a single value");
}

Result<void> setKey(RunConfig& config, const std::string& key, const Json& json) {
    const RunOption* field = findRunOption(key);
    if (field == nullptr) {
        return failure(ErrorCode::kUsage, fmt::format("unknown key '{}' in the run configuration{}",
                                                      key, suggestedKey(key)));
    }
    const auto value = scalar(json);
    const auto done = value ? field->set(config, *value) : Result<void>(failure(value));
    if (!done) return failure(ErrorCode::kUsage, key + ": " + done.error().message);
    return {};
}

}  // namespace

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

CaptureWish captureWishOf(const RunConfig& config) {
    return {config.capture, config.captureSteps, config.alternateCapture ? 2 : config.captureEvery};
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

CommunicatorKind communicatorOf(const RunConfig& config) {
    if (config.device == Device::kCuda) return CommunicatorKind::kNccl;
    if (config.linkGigabytesPerSecond > 0) return CommunicatorKind::kModelled;
    if (config.transport == Transport::kGloo) return CommunicatorKind::kGloo;
    const RankPlaces places = placesOf(config);
    if (places.onOneHost()) return CommunicatorKind::kSharedMemory;
    // As engine/worker/rank_links.cpp chooses: hosts of one rank each are a ring by themselves.
    return places.even() && places.ranksOf(0) > 1 ? CommunicatorKind::kHierarchical
                                                  : CommunicatorKind::kGloo;
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

std::string toJson(const RunConfig& config) {
    Json root = Json::object();
    for (const RunOption& field : runOptions()) {
        std::string_view key = field.key;
        Json* target = &root;
        if (key.starts_with(kModelPrefix)) {
            target = &root["model"];
            key.remove_prefix(kModelPrefix.size());
        }
        std::visit(
            [&](const auto& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
                    (*target)[std::string(key)] = utf8OfBytes(value);
                else
                    (*target)[std::string(key)] = value;
            },
            field.get(config));
    }
    return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RunConfig> parseRunConfigJson(std::string_view text) {
    const Json root = Json::parse(text, nullptr, false);
    if (!root.is_object()) {
        return failure(ErrorCode::kUsage, "the run configuration is not a JSON object");
    }
    RunConfig config;
    for (const auto& [key, value] : root.items()) {
        if (key != "model") {
            if (auto done = setKey(config, key, value); !done) return failure(done);
            continue;
        }
        if (!value.is_object()) return failure(ErrorCode::kUsage, "model: must be an object");
        for (const auto& [part, partValue] : value.items()) {
            auto done = setKey(config, std::string(kModelPrefix) + part, partValue);
            if (!done) return failure(done);
        }
    }
    return config;
}

}  // namespace shardscope::run
