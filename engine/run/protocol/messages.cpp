// One description of each message's fields serves both directions, so that encode and decode
// cannot drift apart.
#include "engine/run/protocol/messages.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace shardscope::run {
namespace {

using Json = nlohmann::json;

/// Leaves decode() with a sentence; never crosses it.
struct BadMessage {
    std::string text;
};

// Fields, one function a struct. `f` is a Writer or a Reader.
/// Rows of a recording have the names of their columns.
template <class F, TableRow Row>
void fields(F& f, Row& row) {
    forEachColumn<Row>([&](const auto& column) { f(column.name, column.of(row)); });
}
template <class F>
void fields(F& f, AgentHello& m) {
    f("protocol", m.protocol), f("product", m.product), f("pid", m.pid), f("host", m.host);
    f("now_ns", m.nowNs);
}
template <class F>
void fields(F& f, LaunchRequest& m) {
    f("config", m.config), f("origin_ns", m.originNs), f("rank_program", m.rankProgram);
    f("segment_bytes", m.segmentBytes), f("environment", m.environment);
}
template <class F>
void fields(F& f, RankStart& m) {
    f("config", m.config), f("rank", m.rank), f("world_size", m.worldSize);
    f("origin_ns", m.originNs), f("segment_fd", m.segmentFd);
    f("segment_bytes", m.segmentBytes);
}
template <class F>
void fields(F& f, Command& m) {
    f("verb", m.verb), f("level", m.capture.level), f("steps", m.capture.steps);
    f("every", m.capture.every);
}
template <class F>
void fields(F&, Heartbeat&) {}
template <class F>
void fields(F& f, RankStarted& m) {
    f("rank", m.rank), f("pid", m.pid);
}
template <class F>
void fields(F& f, RankExited& m) {
    f("rank", m.rank), f("code", m.code), f("signal", m.signal), f("last_words", m.lastWords);
}
template <class F>
void fields(F&, AgentDone&) {}
template <class F>
void fields(F& f, LogLine& m) {
    f("level", m.level), f("text", m.text);
}
template <class F>
void fields(F& f, RankHello& m) {
    f("protocol", m.protocol), f("product", m.product), f("pid", m.pid);
    f("device", m.device), f("libraries", m.libraries);
}
template <class F>
void fields(F& f, PeakMeasured& m) {
    f("peak_flops", m.peakFlops), f("source", m.source);
}
template <class F>
void fields(F& f, DeviceReported& m) {
    f("device", m.device);
}
template <class F>
void fields(F& f, LaneDeclared& m) {
    f("lane", m.lane);
}
template <class F>
void fields(F& f, StringsDeclared& m) {
    f("first", m.first), f("texts", m.texts);
}
template <class F>
void fields(F& f, StepDone& m) {
    f("step", m.step), f("memory_in_use_bytes", m.memoryInUse);
    f("exposed_communication_ns", m.exposedCommunication), f("capture", m.capture);
    f("capture_reason", m.captureReason);
}
template <class F>
void fields(F& f, MetricReported& m) {
    f("point", m.point);
}
template <class F>
void fields(F& f, TheoryReported& m) {
    f("categories", m.categories);
}
template <class F>
void fields(F& f, DiagnosticRaised& m) {
    f("diagnostic", m.diagnostic);
}
template <class F>
void fields(F& f, RankFinished& m) {
    f("emitted", m.emitted), f("dropped", m.dropped), f("stopped", m.stopped);
}
template <class F>
void fields(F& f, RankFailed& m) {
    f("message", m.message), f("code", m.code), f("step", m.step), f("phase", m.phase);
    f("layer", m.layer);
}
template <class F>
void fields(F& f, VerifyResult& m) {
    f("loss", m.loss), f("gradient_norm", m.gradientNorm), f("weights", m.weights);
    f("worst_tensor", m.worstTensor), f("steps", m.steps), f("state_bytes", m.stateBytes);
    f("theory_state_bytes", m.theoryStateBytes);
}

/// The word under "type", by alternative of Message.
constexpr const char* kTypes[] = {
    "agent_hello",     "launch_request",  "rank_start",        "command",          "heartbeat",
    "rank_started",    "rank_exited",     "agent_done",        "log_line",         "rank_hello",
    "peak_measured",   "device_reported", "lane_declared",     "strings_declared", "step_done",
    "metric_reported", "theory_reported", "diagnostic_raised", "rank_finished",    "rank_failed",
    "verify_result"};
static_assert(std::size(kTypes) == std::variant_size_v<Message>);

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsId = false;
template <class Tag, class Rep>
inline constexpr bool kIsId<Id<Tag, Rep>> = true;
using TextMap = std::map<std::string, std::string>;

class Writer {
public:
    template <class T>
    void operator()(const char* name, T& value) {
        m_json[name] = toJsonValue(value);
    }
    Json take() { return std::move(m_json); }

private:
    template <class T>
    static Json toJsonValue(T& value) {
        if constexpr (std::is_same_v<T, RunConfig>) {
            return Json::parse(toJson(value));
        } else if constexpr (std::is_same_v<T, Bytes>) {
            return value.count;
        } else if constexpr (std::is_same_v<T, Timestamp> || std::is_same_v<T, Duration>) {
            return value.ns;
        } else if constexpr (kIsId<T>) {
            return value.value;
        } else if constexpr (std::is_enum_v<T>) {
            return static_cast<int>(value);
        } else if constexpr (kIsOptional<T>) {
            return value ? toJsonValue(*value) : Json();
        } else if constexpr (kIsVector<T>) {
            Json list = Json::array();
            for (auto& each : value) list.push_back(toJsonValue(each));
            return list;
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             std::is_same_v<T, TextMap>) {
            return value;
        } else {
            Writer nested;
            fields(nested, value);
            return nested.take();
        }
    }

    Json m_json = Json::object();
};

class Reader {
public:
    Reader(const Json& json, std::string where) : m_json(json), m_where(std::move(where)) {}

    template <class T>
    void operator()(const char* name, T& value) {
        const std::string field = m_where + "." + name;
        const auto found = m_json.find(name);
        if (found == m_json.end()) throw BadMessage{field + " is missing"};
        read(*found, field, value);
    }

private:
    template <class T>
    static void read(const Json& json, const std::string& field, T& value) {
        if constexpr (std::is_same_v<T, RunConfig>) {
            auto parsed = parseRunConfigJson(json.dump());
            if (!parsed) throw BadMessage{field + ": " + parsed.error().message};
            value = std::move(*parsed);
        } else if constexpr (std::is_same_v<T, Bytes>) {
            read(json, field, value.count);
        } else if constexpr (std::is_same_v<T, Timestamp> || std::is_same_v<T, Duration>) {
            read(json, field, value.ns);
        } else if constexpr (kIsId<T>) {
            read(json, field, value.value);
        } else if constexpr (std::is_enum_v<T>) {
            std::underlying_type_t<T> number{};
            read(json, field, number);
            value = static_cast<T>(number);
        } else if constexpr (kIsOptional<T>) {
            value.reset();
            if (!json.is_null()) read(json, field, value.emplace());
        } else if constexpr (kIsVector<T>) {
            if (!json.is_array()) throw BadMessage{field + " is not a list"};
            value.resize(json.size());
            for (std::size_t i = 0; i < json.size(); ++i) read(json[i], field, value[i]);
        } else if constexpr (std::is_same_v<T, bool>) {
            if (!json.is_boolean()) throw BadMessage{field + " is not true or false"};
            value = json.get<bool>();
        } else if constexpr (std::is_integral_v<T>) {
            readInteger(json, field, value);
        } else if constexpr (std::is_floating_point_v<T>) {
            // JSON has no NaN; the writer turns any non-finite number into null.
            if (!json.is_null() && !json.is_number()) throw BadMessage{field + " is not a number"};
            value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (!json.is_string()) throw BadMessage{field + " is not text"};
            value = json.get<std::string>();
        } else if constexpr (std::is_same_v<T, TextMap>) {
            if (!json.is_object()) throw BadMessage{field + " is not an object"};
            value.clear();
            for (const auto& [key, text] : json.items()) {
                read(text, field + "." + key, value[key]);
            }
        } else {
            if (!json.is_object()) throw BadMessage{field + " is not an object"};
            Reader nested(json, field);
            fields(nested, value);
        }
    }

    template <class T>
    static void readInteger(const Json& json, const std::string& field, T& value) {
        const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.get<std::uint64_t>())
                          : json.is_number_integer() ? std::in_range<T>(json.get<std::int64_t>())
                                                     : false;
        if (!fits) throw BadMessage{field + " is not a whole number of its size"};
        value = json.get<T>();
    }

    const Json& m_json;
    std::string m_where;
};

template <std::size_t I = 0>
Message decodeAs(const std::string& type, const Json& json) {
    if constexpr (I == std::variant_size_v<Message>) {
        throw BadMessage{"unknown message '" + type + "'"};
    } else {
        if (type != kTypes[I]) return decodeAs<I + 1>(type, json);
        std::variant_alternative_t<I, Message> message;
        Reader reader(json, type);
        fields(reader, message);
        return message;
    }
}

}  // namespace

std::string encode(const Message& message) {
    Writer writer;
    // The writer reads only; the shared field lists take their struct by plain reference.
    std::visit([&](auto copy) { fields(writer, copy); }, message);
    Json json = writer.take();
    json["type"] = kTypes[message.index()];
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Message> decode(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) {
        return failure(ErrorCode::kLaunch, "a message is not a JSON object with a type");
    }
    try {
        return decodeAs(json["type"].get<std::string>(), json);
    } catch (const BadMessage& bad) {
        return failure(ErrorCode::kLaunch, "malformed message: " + bad.text);
    }
}

}  // namespace shardscope::run
