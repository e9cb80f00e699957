// One description of each message's fields serves both directions, so that encode and decode
// cannot drift apart.
#include "engine/run/protocol/messages.h"

#include "engine/run/protocol/json_fields.h"

#include <iterator>
#include <type_traits>

namespace shardscope::run {

// Parts of messages; found by their namespace.
template <class F>
void fields(F& f, PeerAddress& m) {
    f("name", m.name), f("address", m.address), f("port", m.port);
}
template <class F>
void fields(F& f, RankPlaces& m) {
    f("per_host", m.perHost);
}
template <class F>
void fields(F& f, MeetingPoint& m) {
    f("address", m.address), f("port", m.port);
}

namespace {

using Json = nlohmann::json;

// Fields, one function a struct. `f` is a FieldWriter or a FieldReader.
template <class F>
void fields(F& f, AgentHello& m) {
    f("protocol", m.protocol), f("product", m.product), f("pid", m.pid), f("host", m.host);
    f("now_ns", m.nowNs), f("reached_at", m.reachedAt);
}
template <class F>
void fields(F& f, PrepareRequest& m) {
    f("host", m.host), f("interface", m.interface), f("towards", m.towards);
    f("token", m.token), f("need_bytes", m.needBytes);
}
template <class F>
void fields(F& f, HostPrepared& m) {
    f("address", m.address), f("meeting_port", m.meetingPort), f("check_port", m.checkPort);
    f("failure", m.failure), f("free_bytes", m.freeBytes);
}
template <class F>
void fields(F& f, DataRequest& m) {
    f("path", m.path);
}
template <class F>
void fields(F& f, DataChecked& m) {
    f("checksum", m.checksum), f("bytes", m.bytes), f("failure", m.failure);
}
template <class F>
void fields(F& f, PeersRequest& m) {
    f("peers", m.peers);
}
template <class F>
void fields(F& f, PeersChecked& m) {
    f("failures", m.failures);
}
template <class F>
void fields(F& f, ClockAsked& m) {
    f("sent_ns", m.sentNs);
}
template <class F>
void fields(F& f, ClockTold& m) {
    f("asked_ns", m.askedNs), f("received_ns", m.receivedNs), f("sent_ns", m.sentNs);
}
template <class F>
void fields(F& f, ClockCorrection& m) {
    f("from_ns", m.fromNs), f("origin_ns", m.originNs), f("drift_ppb", m.driftPpb);
}
template <class F>
void fields(F& f, Backlog& m) {
    f("bytes", m.bytes), f("on_disk", m.onDisk), f("given_up", m.givenUp);
}
template <class F>
void fields(F& f, Taken& m) {
    f("bytes", m.bytes);
}
template <class F>
void fields(F& f, LaunchRequest& m) {
    f("config", m.config), f("origin_ns", m.originNs), f("rank_program", m.rankProgram);
    f("segment_bytes", m.segmentBytes), f("environment", m.environment);
    f("places", m.places), f("host", m.host), f("meeting", m.meeting);
}
template <class F>
void fields(F& f, TaskTerms& m) {
    f("send_key", m.sendKey), f("receive_key", m.receiveKey), f("rank_program", m.rankProgram);
    f("config", m.config), f("trouble", m.trouble);
}
template <class F>
void fields(F& f, RankStart& m) {
    f("config", m.config), f("rank", m.rank), f("origin_ns", m.originNs);
    f("segment_fd", m.segmentFd);
    f("segment_bytes", m.segmentBytes), f("places", m.places), f("meeting", m.meeting);
    f("meeting_fd", m.meetingFd), f("address", m.address);
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
void fields(F& f, RankActivity& m) {
    f("step", m.step), f("phase", m.phase), f("layer", m.layer), f("in_phase_ns", m.inPhase);
    f("queues", m.queues), f("tensor_bytes", m.tensors), f("resident_set_bytes", m.residentSet);
}
template <class F>
void fields(F& f, MetricReported& m) {
    f("point", m.point);
}
template <class F>
void fields(F& f, SampleWritten& m) {
    f("step", m.step), f("time_ns", m.time), f("text", m.text);
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
    "agent_hello",     "prepare_request",  "host_prepared",   "data_request",
    "data_checked",    "peers_request",    "peers_checked",   "clock_asked",
    "clock_told",      "clock_correction", "backlog",         "taken",
    "launch_request",  "task_terms",       "rank_start",      "command",
    "heartbeat",       "rank_started",     "rank_exited",     "agent_done",
    "log_line",        "rank_hello",       "peak_measured",   "device_reported",
    "lane_declared",   "strings_declared", "step_done",       "rank_activity",
    "metric_reported", "sample_written",   "theory_reported", "diagnostic_raised",
    "rank_finished",   "rank_failed",      "verify_result"};
static_assert(std::size(kTypes) == std::variant_size_v<Message>);

/// From the recorder or a task of this user's: what was asked for here.
template <class M>
inline constexpr bool kIsRequest =
    std::is_same_v<M, PrepareRequest> || std::is_same_v<M, DataRequest> ||
    std::is_same_v<M, PeersRequest> || std::is_same_v<M, LaunchRequest> ||
    std::is_same_v<M, TaskTerms> || std::is_same_v<M, RankStart> || std::is_same_v<M, Command>;
template <class M>
inline constexpr bool kHasLines =
    std::is_same_v<M, RankExited> || std::is_same_v<M, StringsDeclared> ||
    std::is_same_v<M, SampleWritten> || std::is_same_v<M, DiagnosticRaised>;
/// Of agents and ranks all else is a name or a sentence.
template <class M>
inline constexpr Texts kTexts = kIsRequest<M>  ? Texts::kAsTheyAre
                                : kHasLines<M> ? Texts::kLines
                                               : Texts::kLine;

template <std::size_t I = 0>
Message decodeAs(const std::string& type, const Json& json) {
    if constexpr (I == std::variant_size_v<Message>) {
        throw BadMessage{"unknown message '" + type + "'"};
    } else {
        if (type != kTypes[I]) return decodeAs<I + 1>(type, json);
        using Read = std::variant_alternative_t<I, Message>;
        Read message;
        FieldReader<Json> reader(json, type, Kept::kNothing, kTexts<Read>);
        fields(reader, message);
        return message;
    }
}

}  // namespace

std::string encode(const Message& message) {
    FieldWriter<Json> writer;
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
        return failure(ErrorCode::kLaunch, printableLine("malformed message: " + bad.text));
    }
}

}  // namespace shardscope::run
