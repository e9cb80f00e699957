#include "engine/run/config/byte_text.h"
#include "engine/run/config/run_config.h"
#include "engine/run/config/run_option.h"

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
