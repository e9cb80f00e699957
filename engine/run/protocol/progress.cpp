#include "engine/run/protocol/progress.h"

#include "engine/run/protocol/json_fields.h"

#include <iterator>

namespace shardscope::run {
namespace {

using Json = nlohmann::ordered_json;

template <class F>
void fields(F& f, RunStarted& m) {
    f("output", m.output), f("model", m.model), f("strategy", m.strategy), f("ranks", m.ranks);
    f("steps", m.steps), f("parameters", m.parameters);
}
template <class F>
void fields(F& f, StepProgress& m) {
    f("step", m.step), f("steps", m.steps), f("loss", m.loss);
    f("tokens_per_s", m.tokensPerSecond), f("learning_rate", m.learningRate);
    f("gradient_norm", m.gradientNorm), f("memory_bytes", m.memory);
    f("blocked_fraction", m.blockedFraction), f("eta_s", m.secondsLeft);
    f("time_s", m.timeSeconds);
}
template <class F>
void fields(F& f, ValidationDone& m) {
    f("step", m.step), f("loss", m.loss);
}
template <class F>
void fields(F& f, RankChanged& m) {
    f("rank", m.rank), f("state", m.state), f("pid", m.pid);
}
template <class F>
void fields(F& f, RankFigures& m) {
    f("rank", m.rank), f("step", m.step), f("phase", m.phase), f("layer", m.layer);
    f("phase_s", m.phaseSeconds), f("waits", m.waits), f("queues", m.queues);
    f("tensor_bytes", m.tensors), f("resident_bytes", m.residentSet);
    f("tokens_per_s", m.tokensPerSecond), f("steps_counted", m.stepsCounted);
}
template <class F>
void fields(F& f, SampleText& m) {
    f("step", m.step), f("text", m.text);
}
template <class F>
void fields(F& f, HostChanged& m) {
    f("host", m.host), f("name", m.name), f("state", m.state), f("detail", m.detail);
    f("sent_bytes", m.sent), f("all_bytes", m.all);
}
template <class F>
void fields(F& f, RecorderLog& m) {
    f("level", m.level), f("text", m.text);
}
template <class F>
void fields(F& f, RunFinished& m) {
    f("status", m.status), f("output", m.output), f("exit_code", m.exitCode);
    f("message", m.message);
}

/// The word under "event", by alternative of ProgressEvent.
constexpr const char* kEvents[] = {"started", "step",     "validation",   "rank",  "host",
                                   "log",     "finished", "rank_figures", "sample"};
static_assert(std::size(kEvents) == std::variant_size_v<ProgressEvent>);

template <std::size_t I = 0>
std::optional<ProgressEvent> decodeAs(const std::string& event, const Json& json) {
    if constexpr (I == std::variant_size_v<ProgressEvent>) {
        return std::nullopt;
    } else {
        if (event != kEvents[I]) return decodeAs<I + 1>(event, json);
        std::variant_alternative_t<I, ProgressEvent> read;
        FieldReader<Json> reader(json, event, Kept::kMissing, Texts::kAsTheyAre);
        fields(reader, read);
        return read;
    }
}

}  // namespace

std::string encodeProgress(const ProgressEvent& event) {
    Json json{{"event", kEvents[event.index()]}};
    FieldWriter<Json> writer;
    // The writer reads only; the shared field lists take their struct by plain reference.
    std::visit([&](auto copy) { fields(writer, copy); }, event);
    json.update(writer.take());
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::optional<ProgressEvent>> decodeProgress(std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("event") || !json["event"].is_string())
        return failure(ErrorCode::kFailure, "the recorder said something that is not an event: " +
                                                std::string(line.substr(0, 120)));
    try {
        return decodeAs(json["event"].get<std::string>(), json);
    } catch (const BadMessage& bad) {
        return failure(ErrorCode::kFailure, "the recorder said " + bad.text);
    }
}

}  // namespace shardscope::run
