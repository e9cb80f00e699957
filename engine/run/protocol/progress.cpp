#include "engine/run/protocol/progress.h"

#include "engine/run/protocol/json_fields.h"

#include <cstddef>

namespace shardscope::run {

FieldsOf<RunStarted> fieldsOf(Of<RunStarted>) {
    using M = RunStarted;
    return {{"output", &M::output},  {"model", &M::model}, {"strategy", &M::strategy},
            {"ranks", &M::ranks},    {"steps", &M::steps}, {"parameters", &M::parameters},
            {"command", &M::command}};
}
FieldsOf<StepProgress> fieldsOf(Of<StepProgress>) {
    using M = StepProgress;
    return {{"step", &M::step},
            {"steps", &M::steps},
            {"loss", &M::loss},
            {"tokens_per_s", &M::tokensPerSecond},
            {"learning_rate", &M::learningRate},
            {"gradient_norm", &M::gradientNorm},
            {"memory_bytes", &M::memory},
            {"blocked_fraction", &M::blockedFraction},
            {"eta_s", &M::secondsLeft},
            {"time_s", &M::timeSeconds},
            {"step_s", &M::stepSeconds}};
}
FieldsOf<ValidationDone> fieldsOf(Of<ValidationDone>) {
    using M = ValidationDone;
    return {{"step", &M::step}, {"loss", &M::loss}};
}
FieldsOf<RankChanged> fieldsOf(Of<RankChanged>) {
    using M = RankChanged;
    return {{"rank", &M::rank}, {"state", &M::state}, {"pid", &M::pid}};
}
FieldsOf<RankFigures> fieldsOf(Of<RankFigures>) {
    using M = RankFigures;
    return {{"rank", &M::rank},
            {"step", &M::step},
            {"phase", &M::phase},
            {"layer", &M::layer},
            {"phase_s", &M::phaseSeconds},
            {"waits", &M::waits},
            {"queues", &M::queues},
            {"tensor_bytes", &M::tensors},
            {"resident_bytes", &M::residentSet},
            {"tokens_per_s", &M::tokensPerSecond},
            {"steps_counted", &M::stepsCounted},
            {"step_s", &M::stepSeconds},
            {"cores", &M::cores}};
}
FieldsOf<ProgramFigures> fieldsOf(Of<ProgramFigures>) {
    using M = ProgramFigures;
    return {
        {"processes", &M::processes}, {"resident_bytes", &M::residentSet}, {"cores", &M::cores}};
}
FieldsOf<SampleText> fieldsOf(Of<SampleText>) {
    using M = SampleText;
    return {{"step", &M::step}, {"text", &M::text}};
}
FieldsOf<HostChanged> fieldsOf(Of<HostChanged>) {
    using M = HostChanged;
    return {{"host", &M::host},     {"name", &M::name},       {"state", &M::state},
            {"detail", &M::detail}, {"sent_bytes", &M::sent}, {"all_bytes", &M::all}};
}
FieldsOf<RecorderLog> fieldsOf(Of<RecorderLog>) {
    using M = RecorderLog;
    return {{"level", &M::level}, {"text", &M::text}};
}
FieldsOf<RunFinished> fieldsOf(Of<RunFinished>) {
    using M = RunFinished;
    return {{"status", &M::status},
            {"output", &M::output},
            {"exit_code", &M::exitCode},
            {"message", &M::message}};
}

namespace {

using Events = Alternatives<ProgressEvent>;

/// The word under "event", by alternative of ProgressEvent.
constexpr Events::Words kEvents{"started", "step",     "validation",   "rank",   "host",
                                "log",     "finished", "rank_figures", "sample", "program"};
static_assert(kEvents.back() != nullptr);

}  // namespace

std::string encodeProgress(const ProgressEvent& event) {
    return Events::encode("event", kEvents, event);
}

Result<std::optional<ProgressEvent>> decodeProgress(std::string_view line) {
    const TaggedFields fields(line, "event");
    if (!fields.hasWord())
        return failure(ErrorCode::kFailure, "the recorder said something that is not an event: " +
                                                std::string(line.substr(0, 120)));
    const std::size_t place = Events::placeOf(fields.word(), kEvents);
    if (place == kEvents.size()) return std::nullopt;
    ProgressEvent event;
    const auto done = fields.read(*Events::kShapes[place], Events::emplace(event, place),
                                  Kept::kMissing, Texts::kAsTheyAre);
    if (!done) return failure(ErrorCode::kFailure, "the recorder said " + done.error().message);
    return event;
}

}  // namespace shardscope::run
