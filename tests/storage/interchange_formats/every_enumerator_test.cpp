// A recording with every enumerator there is, through writer, reader, SQL, checks, repair, copies
// and other formats: what is appended to an enumeration and forgotten somewhere fails here.
#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/repair/salvage_recording.h"
#include "storage/recording/verify/verify_recording.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/formats.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace shardscope::storage {
namespace {

using test::IsOk;

constexpr RankId kRank{0};
constexpr LaneId kMarks{9};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr std::int64_t kApart = 1000;  // ns from one event to the next

/// What was found of an enumeration.
template <class Enum>
using Found = std::set<Enum>;
template <class Enum>
Found<Enum> everyOne() {
    return {kAll<Enum>.begin(), kAll<Enum>.end()};
}

struct Content {
    Found<Phase> phases, memoryPhases;
    Found<CollectiveOp> operations;
    Found<Cause> causes;
    Found<DataType> types;
    Found<MemoryCategory> categories;
    Found<MemoryAction> actions;
    Found<LaneRole> roles;
    Found<InstantScope> scopes;
    Found<FlowPoint> points;
    Found<FlowBinding> bindings;
    Found<Severity> severities;
    Found<DetailReason> reasons;
    Found<CaptureLevel> levels;
    friend bool operator==(const Content&, const Content&) = default;
};

Content whole() {
    Content content{everyOne<Phase>(),        everyOne<Phase>(),       everyOne<CollectiveOp>(),
                    everyOne<Cause>(),        everyOne<DataType>(),    everyOne<MemoryCategory>(),
                    everyOne<MemoryAction>(), everyOne<LaneRole>(),    everyOne<InstantScope>(),
                    everyOne<FlowPoint>(),    everyOne<FlowBinding>(), everyOne<Severity>(),
                    everyOne<DetailReason>(), everyOne<CaptureLevel>()};
    // Steps that are held whole have no row.
    content.levels.erase(CaptureLevel::kFull);
    content.levels.erase(CaptureLevel::kOff);
    return content;
}

class EveryEnumerator : public testing::Test {
protected:
    void SetUp() override {
        RunFacts run;
        run.id = "every";
        run.worldSize = 1;
        run.startedUnixNs = 1'767'225'600'000'000'000;
        auto created = RecordingWriter::create(m_path, run, false);
        ASSERT_THAT(created, IsOk());
        RecordingWriter& writer = *created;
        HostFacts host;
        host.name = "here";
        ASSERT_THAT(writer.addHost(host), IsOk());
        RankFacts rank;
        rank.device = "cpu";
        ASSERT_THAT(writer.putRank(rank), IsOk());
        ASSERT_THAT(writer.addStrings(kRank, {1}, {"name"}), IsOk());
        addLanes(writer);
        addEvents(writer);
        for (const Severity severity : kAll<Severity>)
            ASSERT_THAT(writer.addDiagnostic({severity, "code", "what", "do", kRank, {1}, 1}),
                        IsOk());
        ASSERT_THAT(writer.finalise(RunStatus::kFinished, {m_time}), IsOk());
    }

    void addLanes(RecordingWriter& writer) {
        for (const LaneRole role : kAll<LaneRole>) {
            const std::int32_t place = static_cast<std::int32_t>(role);
            ASSERT_THAT(writer.addLane({kRank, laneOf(role), role, toWord(role),
                                        role == LaneRole::kCounter ? "1" : "", place}),
                        IsOk());
        }
        ASSERT_THAT(writer.addLane({kRank, kMarks, LaneRole::kRange, "marks", "", 20}), IsOk());
    }

    static LaneId laneOf(LaneRole role) { return {static_cast<std::uint32_t>(role)}; }
    Timestamp next() { return {m_time += kApart}; }

    void addEvents(RecordingWriter& writer) {
        std::vector<SpanEvent> spans;
        for (const LaneRole role : kAll<LaneRole>) {
            if (role == LaneRole::kCounter) continue;
            for (const Phase phase : kAll<Phase>) {
                SpanEvent span;
                span.start = next();
                span.duration = {kApart / 2};
                span.lane = laneOf(role);
                span.name = {1};
                span.phase = phase;
                spans.push_back(span);
            }
        }
        ASSERT_THAT(writer.addChunk(columns::encodeSpans(kRank, spans)), IsOk());
        std::vector<CounterEvent> samples{{next(), laneOf(LaneRole::kCounter), 1}};
        ASSERT_THAT(writer.addChunk(columns::encodeCounters(kRank, samples)), IsOk());
        addMemory(writer);
        addCollectives(writer);
        std::vector<InstantEvent> instants;
        for (const InstantScope scope : kAll<InstantScope>) {
            InstantEvent& instant = instants.emplace_back();
            instant.time = next();
            instant.lane = kMarks;
            instant.name = {1};
            instant.scope = scope;
        }
        ASSERT_THAT(writer.addChunk(columns::encodeInstants(kRank, instants)), IsOk());
        addFlows(writer, spans.front());
    }

    void addMemory(RecordingWriter& writer) {
        std::vector<MemoryEvent> events;
        std::uint64_t address = 1 << 12;
        for (const MemoryCategory category : kAll<MemoryCategory>)
            for (const Phase phase : kAll<Phase>) {
                MemoryEvent event;
                event.address = address += 64;
                event.size = {64};
                event.category = category;
                event.phase = phase;
                for (const MemoryAction action : kAll<MemoryAction>) {
                    event.time = next();
                    event.action = action;
                    events.push_back(event);
                }
            }
        ASSERT_THAT(writer.addChunk(columns::encodeMemory(kRank, events)), IsOk());
    }

    void addCollectives(RecordingWriter& writer) {
        std::vector<CollectiveEvent> events;
        for (const CollectiveOp operation : kAll<CollectiveOp>)
            for (const DataType dtype : kAll<DataType>)
                for (const Cause cause : kAll<Cause>) {
                    CollectiveEvent event;
                    event.operation = operation;
                    event.dtype = dtype;
                    event.cause = cause;
                    event.sequence = events.size() + 1;
                    event.size = {8};
                    event.issue = event.start = next();
                    event.end = event.start + Duration{kApart / 2};
                    event.arrivals = {event.start};
                    events.push_back(event);
                }
        ASSERT_THAT(writer.addChunk(columns::encodeCollectives(kRank, events)), IsOk());
    }

    void addFlows(RecordingWriter& writer, const SpanEvent& span) {
        std::vector<FlowEvent> flows;
        for (const FlowBinding binding : kAll<FlowBinding>)
            for (const FlowPoint point : kAll<FlowPoint>) {
                FlowEvent& flow = flows.emplace_back();
                flow.time = span.start;
                flow.lane = span.lane;
                flow.id = 1 + static_cast<std::uint64_t>(binding);
                flow.name = flow.category = {1};
                flow.point = point;
                flow.binding = binding;
                flow.bound = true;
                flow.spanStart = span.start;
            }
        ASSERT_THAT(writer.addChunk(columns::encodeFlows(kRank, flows)), IsOk());
    }

    /// Rows that a writer makes itself only under limits and schedules.
    void addDetail(const std::string& path) {
        RunFacts run;
        run.id = "detail";
        auto writer = RecordingWriter::create(path, run, true);
        ASSERT_THAT(writer, IsOk());
        ASSERT_THAT(writer->addHost(HostFacts{}), IsOk());
        ASSERT_THAT(writer->putRank(RankFacts{}), IsOk());
        std::int32_t step = 0;
        for (const DetailReason reason : kAll<DetailReason>)
            for (const CaptureLevel level : {CaptureLevel::kSteps, CaptureLevel::kLight}) {
                step += 10;
                DetailFacts facts;
                facts.first = facts.last = {step};
                facts.range = {{step}, {step + 1}};
                facts.level = level;
                facts.reason = reason;
                ASSERT_THAT(writer->addDetail(facts), IsOk());
            }
        ASSERT_THAT(writer->finalise(RunStatus::kFinished, {1000}), IsOk());
    }

    static void addDetail(const RecordingSummary& summary, Content& content) {
        for (const DetailFacts& facts : summary.detail) {
            content.reasons.insert(facts.reason);
            content.levels.insert(facts.level);
        }
    }

    /// As the reader tells it, whatever could be read.
    static Content contentOf(const std::string& path) {
        Content content;
        auto reader = openRecording(path);
        if (!reader) return content;
        const auto summary = (*reader)->summary();
        if (!summary) return content;
        addDetail(*summary, content);
        for (const Diagnostic& diagnostic : summary->diagnostics)
            content.severities.insert(diagnostic.severity);
        for (const LaneFacts& lane : summary->lanes) {
            content.roles.insert(lane.role);
            const auto spans = (*reader)->spans(lane.rank, lane.lane, kEverything);
            for (const SpanEvent& span : *spans) content.phases.insert(span.phase);
            const auto instants = (*reader)->instants(lane.rank, lane.lane, kEverything);
            for (const InstantEvent& each : *instants) content.scopes.insert(each.scope);
            const auto flows = (*reader)->flows(lane.rank, lane.lane, kEverything);
            for (const FlowEvent& flow : *flows) {
                content.points.insert(flow.point);
                content.bindings.insert(flow.binding);
            }
        }
        const auto memory = (*reader)->memoryEvents(kRank, kEverything);
        for (const MemoryEvent& event : *memory) {
            content.categories.insert(event.category);
            content.actions.insert(event.action);
            content.memoryPhases.insert(event.phase);
        }
        const auto events = (*reader)->rankEvents(kRank, kEverything);
        for (const CollectiveEvent& event : events->collectives) {
            content.operations.insert(event.operation);
            content.causes.insert(event.cause);
            content.types.insert(event.dtype);
        }
        return content;
    }

    /// Rows of detail lie in a recording of their own: the writer thins nothing here.
    static Content expected() {
        Content content = whole();
        content.reasons.clear();
        content.levels.clear();
        return content;
    }

    std::set<std::string> wordsBySql(const std::string& sql) {
        std::set<std::string> words;
        auto answer = (*openRecording(m_path))->query(sql);
        EXPECT_THAT(answer, IsOk());
        for (const auto& row : answer->rows)
            if (row[0]) words.insert(*row[0]);
        return words;
    }
    template <class Enum>
    static std::set<std::string> allWords() {
        const auto words = wordVector<Enum>();
        return {words.begin(), words.end()};
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("every.sscope");
    std::int64_t m_time = 0;
};

TEST_F(EveryEnumerator, IsReadAsItWasWritten) {
    EXPECT_EQ(contentOf(m_path), expected());
}

TEST_F(EveryEnumerator, OfDetailIsReadAsItWasWritten) {
    const std::string path = m_folder.file("detail.sscope");
    addDetail(path);
    const Content content = contentOf(path);
    EXPECT_EQ(content.reasons, whole().reasons);
    EXPECT_EQ(content.levels, whole().levels);
    const auto found = verifyRecording(path);
    EXPECT_TRUE(found && found->sound()) << (found ? found->faults.front().what : "");
}

TEST_F(EveryEnumerator, HasItsWordInSql) {
    EXPECT_EQ(wordsBySql("SELECT DISTINCT phase FROM events WHERE kind='span'"), allWords<Phase>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT category FROM memory_events"),
              allWords<MemoryCategory>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT action FROM memory_events"), allWords<MemoryAction>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT operation FROM collectives"), allWords<CollectiveOp>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT dtype FROM collectives"), allWords<DataType>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT cause FROM collectives"), allWords<Cause>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT scope FROM instants"), allWords<InstantScope>());
    EXPECT_EQ(wordsBySql("SELECT DISTINCT point FROM flows"), allWords<FlowPoint>());
}

TEST_F(EveryEnumerator, IsSoundAndSurvivesRepair) {
    const auto found = verifyRecording(m_path);
    ASSERT_THAT(found, IsOk());
    EXPECT_TRUE(found->sound()) << found->faults.front().where << found->faults.front().what;
    const std::string repaired = m_folder.file("repaired.sscope");
    const auto saved = salvageRecording(m_path, repaired, false);
    ASSERT_THAT(saved, IsOk());
    EXPECT_TRUE(saved->lossless());
    EXPECT_EQ(contentOf(repaired), expected());
}

/// Formats that hold all of a recording bring all of it back.
TEST_F(EveryEnumerator, ComesBackFromFormatsThatHoldAll) {
    for (const char* format : {"sscope", "perfetto"}) {
        const std::string file = m_folder.file(std::string("out.") + format);
        interchange::ExportOptions options;
        options.output = file;
        auto reader = openRecording(m_path);
        ASSERT_THAT(interchange::exportAs(format, **reader, options), IsOk());
        const std::string back = m_folder.file(std::string(format) + "-back.sscope");
        interchange::ImportOptions import;
        import.output = back;
        ASSERT_THAT(interchange::importTraces({file}, import), IsOk()) << format;
        Content content = contentOf(back);
        content.severities = expected().severities;  // the import adds a note of its own
        EXPECT_EQ(content, expected()) << format;
    }
}

TEST_F(EveryEnumerator, IsWrittenByEveryFormatThatIsWritten) {
    for (const interchange::Format& format : interchange::formats()) {
        if (format.write == nullptr) continue;
        interchange::ExportOptions options;
        options.output = m_folder.file(std::string("as-") + format.name);
        options.view = "kernels";
        auto reader = openRecording(m_path);
        EXPECT_THAT(format.write(**reader, options), IsOk()) << format.name;
    }
}

}  // namespace
}  // namespace shardscope::storage
