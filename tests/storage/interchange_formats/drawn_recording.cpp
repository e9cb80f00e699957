#include "tests/storage/interchange_formats/drawn_recording.h"

#include "storage/columns/chunk.h"
#include "storage/model/rank_facts.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace shardscope::test {

Result<void> writeDrawn(const std::string& path, DrawnEvents events) {
    RunFacts run;
    run.id = "drawn";
    run.worldSize = 1;
    run.startedUnixNs = kDrawnStart;
    auto writer = storage::RecordingWriter::create(path, run, true);
    if (!writer) return failure(writer);
    RankFacts rank;
    rank.device = "cpu";
    if (auto done = writer->putRank(rank); !done) return done;
    if (auto done = writer->addLane({{0}, events.lane, events.role, events.laneName, "", 0}); !done)
        return done;
    if (auto done =
            writer->addLane({{0}, kDrawnCounter, LaneRole::kCounter, "resident set", "bytes", 1});
        !done)
        return done;
    if (auto done = writer->addStrings({0}, {1}, events.strings); !done) return done;
    for (SpanEvent& span : events.spans) span.lane = events.lane;
    for (CounterEvent& sample : events.samples) sample.lane = kDrawnCounter;
    if (!events.spans.empty())
        if (auto done = writer->addChunk(columns::encodeSpans({0}, events.spans)); !done)
            return done;
    if (!events.samples.empty())
        if (auto done = writer->addChunk(columns::encodeCounters({0}, events.samples)); !done)
            return done;
    if (!events.memory.empty())
        if (auto done = writer->addChunk(columns::encodeMemory({0}, events.memory)); !done)
            return done;
    return writer->finalise(RunStatus::kFinished, {1'000'000});
}

SpanEvent drawnSpan(std::uint32_t name, std::int64_t start, std::int64_t duration,
                    std::uint8_t depth) {
    SpanEvent span;
    span.name = {name};
    span.start = {start};
    span.duration = {duration};
    span.depth = depth;
    return span;
}

std::string contentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t filesIn(const TemporaryFolder& folder) {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path()))
        ++files;
    return files;
}

DrawnFolder::DrawnFolder(DrawnEvents events)
    : m_reader([&]() -> Result<std::unique_ptr<storage::RecordingReader>> {
          auto written = writeDrawn(m_folder.file("run.sscope"), std::move(events));
          if (!written) throw std::runtime_error(written.error().message);
          return storage::openRecording(m_folder.file("run.sscope"));
      }()) {
    if (!m_reader) throw std::runtime_error(m_reader.error().message);
}

interchange::ExportOptions DrawnFolder::options() const {
    interchange::ExportOptions options;
    options.output = file("out");
    return options;
}

}  // namespace shardscope::test
