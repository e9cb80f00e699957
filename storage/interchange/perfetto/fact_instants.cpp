#include "storage/interchange/perfetto/fact_instants.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/perfetto/annotations.h"
#include "storage/model/recording_tables.h"
#include "storage/model/step_facts.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <limits>

namespace shardscope::interchange {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kTimeLimit = std::int64_t{1} << 59;
constexpr std::size_t kMostArrivals = 1'000'000;

/// Stands in the arguments for what the member "frames" has.
constexpr const char* kElsewhere = R"({"see":"frames"})";

/// The text of a stack in the arguments of a memory event; empty without one.
std::string_view framesIn(std::string_view arguments) {
    std::vector<Member> members;
    TextFlags flags;
    const char* const end = arguments.data() + arguments.size();
    if (arguments.empty() || readMembers(arguments.data(), end, members, flags) != end) return {};
    return valueOf(members, "frames");
}

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The value whose word this is; the first one where none is.
template <Worded Enum>
Enum wordOr(std::string_view word) {
    return fromWord<Enum>(word).value_or(kAll<Enum>.front());
}

std::string textIn(const std::vector<Member>& members, std::string_view key) {
    const std::string_view value = valueOf(members, key);
    return value.empty() ? std::string() : textOf(value);
}

template <class Integer = std::int64_t>
Integer integerIn(const std::vector<Member>& members, std::string_view key, Integer otherwise = 0) {
    const auto value = parseInteger(valueOf(members, key));
    if (!value || *value < std::numeric_limits<Integer>::min()) return otherwise;
    if (std::cmp_greater(*value, std::numeric_limits<Integer>::max())) return otherwise;
    return static_cast<Integer>(*value);
}

std::uint64_t countIn(const std::vector<Member>& members, std::string_view key) {
    std::uint64_t value = 0;
    const std::string_view text = valueOf(members, key);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc{} ? value : 0;
}

Timestamp timeIn(const std::vector<Member>& members, std::string_view key, Timestamp otherwise) {
    const std::int64_t ns = integerIn<std::int64_t>(members, key, otherwise.ns);
    return ns > kTimeLimit || ns < -kTimeLimit ? otherwise : Timestamp{ns};
}

StepIndex stepIn(const std::vector<Member>& members) {
    return {integerIn<std::int32_t>(members, "step", kNoStep.value)};
}

void addPlace(Json& json, StepIndex step, LayerIndex layer) {
    if (step != kNoStep) json["step"] = step.value;
    if (layer != kNoLayer) json["layer"] = layerTitle(layer);
}

}  // namespace

LayerIndex layerOf(std::string_view title) {
    if (title == "root") return kRootLayer;
    constexpr std::string_view kFront = "layer ";
    if (!title.starts_with(kFront)) return kNoLayer;
    const auto number = parseInteger(title.substr(kFront.size()));
    if (!number || *number < 0 || *number > std::numeric_limits<std::int16_t>::max())
        return kNoLayer;
    return {static_cast<std::int16_t>(*number)};
}

Phase phaseOf(std::string_view word) {
    return wordOr<Phase>(word);
}

std::string factOf(const MemoryEvent& event, std::string_view arguments) {
    Json json{{"address", event.address},
              {"size", event.size.count},
              {"action", toWord(event.action)},
              {"category", toWord(event.category)}};
    addPlace(json, event.step, event.layer);
    if (event.phase != Phase::kNone) json["phase"] = toWord(event.phase);
    const std::string_view frames = framesIn(arguments);
    if (frames.size() < kLongText) {
        if (!arguments.empty()) json["args"] = arguments;
        return dump(json);
    }
    // Many events share a stack: apart from the rest its text is written once.
    const auto at = static_cast<std::size_t>(frames.data() - arguments.data());
    json["args"] = std::string(arguments.substr(0, at)) + kElsewhere +
                   std::string(arguments.substr(at + frames.size()));
    json["frames"] = frames;
    return dump(json);
}

std::string argumentsOf(const std::vector<Member>& members) {
    std::string arguments = textIn(members, "args");
    const std::string frames = textIn(members, "frames");
    const std::size_t at = frames.empty() ? std::string::npos : arguments.find(kElsewhere);
    if (at != std::string::npos) arguments.replace(at, std::string_view(kElsewhere).size(), frames);
    return arguments;
}

MemoryEvent memoryOf(const std::vector<Member>& members, Timestamp time) {
    MemoryEvent event;
    event.time = time;
    event.address = countIn(members, "address");
    event.size = {std::clamp<std::int64_t>(integerIn(members, "size"), 0, kTimeLimit)};
    event.action = wordOr<MemoryAction>(textIn(members, "action"));
    event.category = wordOr<MemoryCategory>(textIn(members, "category"));
    event.step = stepIn(members);
    event.layer = layerOf(textIn(members, "layer"));
    event.phase = phaseOf(textIn(members, "phase"));
    return event;
}

std::string factOf(const CollectiveEvent& event, std::string_view algorithm,
                   std::string_view protocol) {
    Json json{{"operation", toWord(event.operation)},
              {"dtype", toWord(event.dtype)},
              {"cause", toWord(event.cause)},
              {"group", event.group},
              {"sequence", event.sequence},
              {"bytes", event.size.count},
              {"algorithm", algorithm},
              {"protocol", protocol},
              {"issue_ns", event.issue.ns},
              {"end_ns", event.end.ns}};
    addPlace(json, event.step, event.layer);
    if (!event.arrivals.empty()) {
        Json& arrivals = json["arrivals_ns"] = Json::array();
        for (const Timestamp arrival : event.arrivals) arrivals.push_back(arrival.ns);
    }
    return dump(json);
}

CollectiveEvent collectiveOf(const std::vector<Member>& members, Timestamp start) {
    CollectiveEvent event;
    event.operation = wordOr<CollectiveOp>(textIn(members, "operation"));
    event.dtype = wordOr<DataType>(textIn(members, "dtype"));
    event.cause = wordOr<Cause>(textIn(members, "cause"));
    event.group = integerIn<std::uint32_t>(members, "group");
    event.sequence = countIn(members, "sequence");
    event.size = {
        std::clamp<std::int64_t>(integerIn(members, "bytes"), kUnknownSize.count, kTimeLimit)};
    event.start = start;
    event.issue = timeIn(members, "issue_ns", start);
    event.end = std::max(start, timeIn(members, "end_ns", start));
    event.step = stepIn(members);
    event.layer = layerOf(textIn(members, "layer"));
    const Json arrivals = Json::parse(valueOf(members, "arrivals_ns"), nullptr, false);
    if (!arrivals.is_array() || arrivals.size() > kMostArrivals) return event;
    std::vector<Timestamp> times;
    for (const Json& arrival : arrivals)
        if (arrival.is_number_integer())
            times.push_back({std::clamp(arrival.get<std::int64_t>(), -kTimeLimit, kTimeLimit)});
    event.arrivals = Arrivals(times);
    return event;
}

std::string factOf(const FlowEvent& event, const FlowTexts& texts) {
    Json json{{"lane", event.lane.value},
              {"id", event.id},
              {"category", texts.category},
              {"point", toWord(event.point)},
              {"binds", toWord(event.binding)}};
    if (!texts.idText.empty()) json["id_text"] = texts.idText;
    if (event.bound) json["span_start_ns"] = event.spanStart.ns;
    if (event.bound) json["depth"] = event.depth;
    if (!texts.arguments.empty()) json["args"] = texts.arguments;
    addPlace(json, event.step, kNoLayer);
    return dump(json);
}

FlowEvent flowOf(const std::vector<Member>& members, Timestamp time) {
    FlowEvent event;
    event.time = time;
    event.lane = {integerIn<std::uint32_t>(members, "lane")};
    event.id = countIn(members, "id");
    event.point = wordOr<FlowPoint>(textIn(members, "point"));
    event.binding = wordOr<FlowBinding>(textIn(members, "binds"));
    event.step = stepIn(members);
    event.bound = !valueOf(members, "span_start_ns").empty();
    if (!event.bound) return event;
    event.spanStart = timeIn(members, "span_start_ns", time);
    event.depth = integerIn<std::uint8_t>(members, "depth");
    return event;
}

InstantScope scopeOf(std::string_view word) {
    return wordOr<InstantScope>(word);
}

/// Rank and start are those of the track and of the instant.
bool isInFact(std::string_view column) {
    return column != "rank" && column != "start_ns";
}

std::string factOf(const StepFacts& step) {
    Json json = Json::object();
    for (const Field& column : tableOf<StepFacts>().columns.list)
        if (isInFact(column.name))
            withNumber(column.shape->kind,
                       [&]<class T>(Of<T>) { json[column.name] = load<T>(column.in(&step)); });
    return dump(json);
}

StepFacts stepOf(const std::vector<Member>& members, Timestamp start) {
    StepFacts step;
    for (const Field& column : tableOf<StepFacts>().columns.list)
        if (isInFact(column.name))
            withNumber(column.shape->kind, [&]<class T>(Of<T>) {
                void* at = column.in(&step);
                if constexpr (std::is_unsigned_v<T>)
                    store(at, static_cast<T>(countIn(members, column.name)));
                else if constexpr (std::is_integral_v<T>)
                    store(at, integerIn<T>(members, column.name, load<T>(at)));
            });
    step.start = start;
    step.end = std::max(start, timeIn(members, "end_ns", start));
    return step;
}

std::string factOf(const MetricPoint& metric) {
    Json json{{"value", metric.value}};
    addPlace(json, metric.step, kNoLayer);
    return dump(json);
}

MetricPoint metricOf(const std::vector<Member>& members, Timestamp time) {
    MetricPoint metric;
    metric.time = time;
    metric.step = stepIn(members);
    const std::string_view text = valueOf(members, "value");
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), metric.value);
    if (parsed.ec != std::errc{}) metric.value = std::numeric_limits<double>::quiet_NaN();
    return metric;
}

}  // namespace shardscope::interchange
