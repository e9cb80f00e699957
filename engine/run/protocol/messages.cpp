// One description of each message's fields serves both directions, so that encode and decode
// cannot drift apart.
#include "engine/run/protocol/messages.h"

#include "engine/run/protocol/json_fields.h"
#include "storage/model/plain_text.h"

#include <array>
#include <cstddef>
#include <type_traits>

namespace shardscope::run {

// Fields, one function a struct; found by its namespace, each before what it is part of.

FieldsOf<PeerAddress> fieldsOf(Of<PeerAddress>) {
    using M = PeerAddress;
    return {{"name", &M::name}, {"address", &M::address}, {"port", &M::port}};
}
FieldsOf<RankPlaces> fieldsOf(Of<RankPlaces>) {
    using M = RankPlaces;
    return {{"per_host", &M::perHost}};
}
FieldsOf<MeetingPoint> fieldsOf(Of<MeetingPoint>) {
    using M = MeetingPoint;
    return {{"address", &M::address}, {"port", &M::port}, {"key", &M::key}};
}

FieldsOf<AgentHello> fieldsOf(Of<AgentHello>) {
    using M = AgentHello;
    return {{"protocol", &M::protocol}, {"product", &M::product}, {"pid", &M::pid},
            {"host", &M::host},         {"now_ns", &M::nowNs},    {"reached_at", &M::reachedAt}};
}
FieldsOf<PrepareRequest> fieldsOf(Of<PrepareRequest>) {
    using M = PrepareRequest;
    return {{"host", &M::host},
            {"interface", &M::interface},
            {"towards", &M::towards},
            {"token", &M::token},
            {"need_bytes", &M::needBytes}};
}
FieldsOf<HostPrepared> fieldsOf(Of<HostPrepared>) {
    using M = HostPrepared;
    return {{"address", &M::address},
            {"meeting_port", &M::meetingPort},
            {"check_port", &M::checkPort},
            {"failure", &M::failure},
            {"free_bytes", &M::freeBytes}};
}
FieldsOf<DataRequest> fieldsOf(Of<DataRequest>) {
    using M = DataRequest;
    return {{"path", &M::path}};
}
FieldsOf<DataChecked> fieldsOf(Of<DataChecked>) {
    using M = DataChecked;
    return {{"checksum", &M::checksum}, {"bytes", &M::bytes}, {"failure", &M::failure}};
}
FieldsOf<PeersRequest> fieldsOf(Of<PeersRequest>) {
    using M = PeersRequest;
    return {{"peers", &M::peers}};
}
FieldsOf<PeersChecked> fieldsOf(Of<PeersChecked>) {
    using M = PeersChecked;
    return {{"failures", &M::failures}};
}
FieldsOf<ClockAsked> fieldsOf(Of<ClockAsked>) {
    using M = ClockAsked;
    return {{"sent_ns", &M::sentNs}};
}
FieldsOf<ClockAnswer> fieldsOf(Of<ClockAnswer>) {
    using M = ClockAnswer;
    return {{"asked_ns", &M::askedNs}, {"received_ns", &M::receivedNs}, {"sent_ns", &M::sentNs}};
}
FieldsOf<ClockCorrection> fieldsOf(Of<ClockCorrection>) {
    using M = ClockCorrection;
    return {{"from_ns", &M::fromNs}, {"origin_ns", &M::originNs}, {"drift_ppb", &M::driftPpb}};
}
FieldsOf<Backlog> fieldsOf(Of<Backlog>) {
    using M = Backlog;
    return {{"bytes", &M::bytes}, {"on_disk", &M::onDisk}, {"given_up", &M::givenUp}};
}
FieldsOf<Taken> fieldsOf(Of<Taken>) {
    using M = Taken;
    return {{"bytes", &M::bytes}};
}
FieldsOf<LaunchRequest> fieldsOf(Of<LaunchRequest>) {
    using M = LaunchRequest;
    return {{"config", &M::config},
            {"origin_ns", &M::originNs},
            {"rank_program", &M::rankProgram},
            {"segment_bytes", &M::segmentBytes},
            {"environment", &M::environment},
            {"places", &M::places},
            {"host", &M::host},
            {"meeting", &M::meeting}};
}
FieldsOf<ProgramLaunch> fieldsOf(Of<ProgramLaunch>) {
    using M = ProgramLaunch;
    return {{"origin_ns", &M::originNs},
            {"part", &M::part},
            {"command", &M::command},
            {"folder", &M::folder},
            {"environment", &M::environment},
            {"level", &M::capture, &CaptureWish::level},
            {"steps", &M::capture, &CaptureWish::steps},
            {"every", &M::capture, &CaptureWish::every},
            {"step_range", &M::stepRange}};
}
FieldsOf<TaskTerms> fieldsOf(Of<TaskTerms>) {
    using M = TaskTerms;
    return {{"send_key", &M::sendKey},
            {"receive_key", &M::receiveKey},
            {"rank_program", &M::rankProgram},
            {"config", &M::config},
            {"trouble", &M::trouble}};
}
FieldsOf<RankStart> fieldsOf(Of<RankStart>) {
    using M = RankStart;
    return {{"config", &M::config},
            {"rank", &M::rank},
            {"origin_ns", &M::originNs},
            {"segment_fd", &M::segmentFd},
            {"segment_bytes", &M::segmentBytes},
            {"places", &M::places},
            {"meeting", &M::meeting},
            {"meeting_fd", &M::meetingFd},
            {"address", &M::address}};
}
FieldsOf<Command> fieldsOf(Of<Command>) {
    using M = Command;
    return {{"verb", &M::verb},
            {"level", &M::capture, &CaptureChange::level},
            {"steps", &M::capture, &CaptureChange::steps},
            {"every", &M::capture, &CaptureChange::every}};
}
FieldsOf<Heartbeat> fieldsOf(Of<Heartbeat>) {
    return {};
}
FieldsOf<RankStarted> fieldsOf(Of<RankStarted>) {
    using M = RankStarted;
    return {{"rank", &M::rank}, {"pid", &M::pid}};
}
FieldsOf<RankExited> fieldsOf(Of<RankExited>) {
    using M = RankExited;
    return {{"rank", &M::rank},     {"code", &M::code},
            {"signal", &M::signal}, {"last_words", &M::lastWords},
            {"left", &M::left},     {"cause", &M::cause}};
}
FieldsOf<RankLooked> fieldsOf(Of<RankLooked>) {
    using M = RankLooked;
    return {{"pid", &M::pid},
            {"hold", &M::hold},
            {"processor_ns", &M::processor},
            {"silent_ns", &M::silent}};
}
FieldsOf<AgentDone> fieldsOf(Of<AgentDone>) {
    return {};
}
FieldsOf<LogLine> fieldsOf(Of<LogLine>) {
    using M = LogLine;
    return {{"level", &M::level}, {"text", &M::text}};
}
FieldsOf<RankHello> fieldsOf(Of<RankHello>) {
    using M = RankHello;
    return {{"protocol", &M::protocol},
            {"product", &M::product},
            {"pid", &M::pid},
            {"device", &M::device},
            {"libraries", &M::libraries}};
}
FieldsOf<PeakMeasured> fieldsOf(Of<PeakMeasured>) {
    using M = PeakMeasured;
    return {{"peak_flops", &M::peakFlops}, {"source", &M::source}};
}
FieldsOf<DeviceReported> fieldsOf(Of<DeviceReported>) {
    using M = DeviceReported;
    return {{"device", &M::device}};
}
FieldsOf<LaneDeclared> fieldsOf(Of<LaneDeclared>) {
    using M = LaneDeclared;
    return {{"lane", &M::lane}};
}
FieldsOf<StringsDeclared> fieldsOf(Of<StringsDeclared>) {
    using M = StringsDeclared;
    return {{"first", &M::first}, {"texts", &M::texts}};
}
FieldsOf<StepDone> fieldsOf(Of<StepDone>) {
    using M = StepDone;
    return {{"step", &M::step},
            {"memory_in_use_bytes", &M::memoryInUse},
            {"exposed_communication_ns", &M::exposedCommunication},
            {"capture", &M::capture},
            {"capture_reason", &M::captureReason}};
}
FieldsOf<RankActivity> fieldsOf(Of<RankActivity>) {
    using M = RankActivity;
    return {{"step", &M::step},
            {"phase", &M::phase},
            {"layer", &M::layer},
            {"in_phase_ns", &M::inPhase},
            {"queues", &M::queues},
            {"tensor_bytes", &M::tensors},
            {"resident_set_bytes", &M::residentSet},
            {"cores", &M::cores}};
}
FieldsOf<MetricReported> fieldsOf(Of<MetricReported>) {
    using M = MetricReported;
    return {{"point", &M::point}};
}
FieldsOf<SampleWritten> fieldsOf(Of<SampleWritten>) {
    using M = SampleWritten;
    return {{"step", &M::step}, {"time_ns", &M::time}, {"text", &M::text}};
}
FieldsOf<TheoryReported> fieldsOf(Of<TheoryReported>) {
    using M = TheoryReported;
    return {{"categories", &M::categories}};
}
FieldsOf<FactsReported> fieldsOf(Of<FactsReported>) {
    using M = FactsReported;
    return {{"facts", &M::facts}};
}
FieldsOf<DiagnosticRaised> fieldsOf(Of<DiagnosticRaised>) {
    using M = DiagnosticRaised;
    return {{"diagnostic", &M::diagnostic}};
}
FieldsOf<RankFinished> fieldsOf(Of<RankFinished>) {
    using M = RankFinished;
    return {{"emitted", &M::emitted}, {"dropped", &M::dropped}, {"stopped", &M::stopped}};
}
FieldsOf<RankFailed> fieldsOf(Of<RankFailed>) {
    using M = RankFailed;
    return {{"message", &M::message}, {"code", &M::code},   {"step", &M::step},
            {"phase", &M::phase},     {"layer", &M::layer}, {"waited_for", &M::waitedFor}};
}
FieldsOf<VerifyResult> fieldsOf(Of<VerifyResult>) {
    using M = VerifyResult;
    return {{"loss", &M::loss},
            {"gradient_norm", &M::gradientNorm},
            {"weights", &M::weights},
            {"worst_tensor", &M::worstTensor},
            {"steps", &M::steps},
            {"state_bytes", &M::stateBytes},
            {"theory_state_bytes", &M::theoryStateBytes}};
}
FieldsOf<ProcessesSeen> fieldsOf(Of<ProcessesSeen>) {
    using M = ProcessesSeen;
    return {{"processes", &M::processes}};
}
FieldsOf<CollectiveOpen> fieldsOf(Of<CollectiveOpen>) {
    using M = CollectiveOpen;
    return {{"group", &M::group},
            {"issued", &M::issued},
            {"sequence", &M::sequence},
            {"operation", &M::operation},
            {"open_ns", &M::openNs}};
}
FieldsOf<ProgramEnded> fieldsOf(Of<ProgramEnded>) {
    using M = ProgramEnded;
    return {{"code", &M::code},   {"signal", &M::signal}, {"cpu_ns", &M::cpuNs},
            {"facts", &M::facts}, {"ranks", &M::ranks},   {"not_started", &M::notStarted}};
}

namespace {

using Messages = Alternatives<Message>;

/// The word under "type", by alternative of Message.
constexpr Messages::Words kTypes{
    "agent_hello",     "prepare_request", "host_prepared",    "data_request",   "data_checked",
    "peers_request",   "peers_checked",   "clock_asked",      "clock_told",     "clock_correction",
    "backlog",         "taken",           "launch_request",   "program_launch", "task_terms",
    "rank_start",      "command",         "heartbeat",        "rank_started",   "rank_exited",
    "rank_looked",     "agent_done",      "log_line",         "rank_hello",     "peak_measured",
    "device_reported", "lane_declared",   "strings_declared", "step_done",      "rank_activity",
    "metric_reported", "sample_written",  "theory_reported",  "facts_reported", "diagnostic_raised",
    "rank_finished",   "rank_failed",     "verify_result",    "processes_seen", "collective_open",
    "program_ended"};
static_assert(kTypes.back() != nullptr);

/// From the recorder or a task of this user's: what was asked for here.
template <class M>
inline constexpr bool kIsRequest =
    std::is_same_v<M, PrepareRequest> || std::is_same_v<M, DataRequest> ||
    std::is_same_v<M, PeersRequest> || std::is_same_v<M, LaunchRequest> ||
    std::is_same_v<M, ProgramLaunch> || std::is_same_v<M, TaskTerms> ||
    std::is_same_v<M, RankStart> || std::is_same_v<M, Command>;
template <class M>
inline constexpr bool kHasLines =
    std::is_same_v<M, RankExited> || std::is_same_v<M, StringsDeclared> ||
    std::is_same_v<M, SampleWritten> || std::is_same_v<M, DiagnosticRaised>;
/// Of agents and ranks all else is a name or a sentence.
template <class M>
inline constexpr Texts kTexts = kIsRequest<M>  ? Texts::kAsTheyAre
                                : kHasLines<M> ? Texts::kLines
                                               : Texts::kLine;
template <class... M>
constexpr std::array<Texts, sizeof...(M)> textsOf(Of<std::variant<M...>>) {
    return {kTexts<M>...};
}

}  // namespace

std::string encode(const Message& message) {
    return Messages::encode("type", kTypes, message);
}

Result<Message> decode(std::string_view text) {
    const TaggedFields fields(text, "type");
    if (!fields.hasWord())
        return failure(ErrorCode::kLaunch, "a message is not a JSON object with a type");
    const auto malformed = [](const std::string& why) {
        return failure(ErrorCode::kLaunch, printableLine("malformed message: " + why));
    };
    const std::size_t place = Messages::placeOf(fields.word(), kTypes);
    if (place == kTypes.size()) return malformed("unknown message '" + fields.word() + "'");
    Message message;
    const auto done = fields.read(*Messages::kShapes[place], Messages::emplace(message, place),
                                  Kept::kNothing, textsOf(Of<Message>{})[place]);
    if (!done) return malformed(done.error().message);
    return message;
}

}  // namespace shardscope::run
