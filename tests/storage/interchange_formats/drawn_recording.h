// A recording of a few drawn events, and what tests of exporters do with files.
#pragma once

#include "storage/interchange/export.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/temporary_folder.h"

#include <memory>
#include <string>
#include <vector>

namespace shardscope::test {

inline constexpr LaneId kDrawnLane{10};
inline constexpr LaneId kDrawnCounter{11};
inline constexpr std::int64_t kDrawnStart = 1'767'225'600'000'000'000;

/// One rank, one lane of spans, one of samples, memory; whatever is given.
struct DrawnEvents {
    std::vector<std::string> strings;  ///< ids from 1
    std::vector<SpanEvent> spans;      ///< by start; lane is set
    std::vector<CounterEvent> samples;
    std::vector<MemoryEvent> memory;
    std::string laneName = "operators";
    LaneRole role = LaneRole::kHost;
    LaneId lane = kDrawnLane;
};

[[nodiscard]] Result<void> writeDrawn(const std::string& path, DrawnEvents events);

/// A span by name id, start and duration.
[[nodiscard]] SpanEvent drawnSpan(std::uint32_t name, std::int64_t start, std::int64_t duration,
                                  std::uint8_t depth = 0);

[[nodiscard]] std::string contentOf(const std::string& path);
/// Files in a folder.
[[nodiscard]] std::size_t filesIn(const TemporaryFolder& folder);

/// A reader of a drawn recording in a folder of its own, and where to export to.
class DrawnFolder {
public:
    explicit DrawnFolder(DrawnEvents events);
    [[nodiscard]] storage::RecordingReader& reader() { return **m_reader; }
    [[nodiscard]] std::string file(const std::string& name) const { return m_folder.file(name); }
    [[nodiscard]] interchange::ExportOptions options() const;
    [[nodiscard]] const TemporaryFolder& folder() const { return m_folder; }

private:
    TemporaryFolder m_folder;
    Result<std::unique_ptr<storage::RecordingReader>> m_reader;
};

}  // namespace shardscope::test
