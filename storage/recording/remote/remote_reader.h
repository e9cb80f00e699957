// RecordingReader of a recording on another machine, through a session (remote_session.h). Answers
// what the reader there answers. One thread.
#pragma once

#include "storage/recording/read/bounded_cache.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/remote/remote_session.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::storage::remote {

class RemoteReader final : public RecordingReader {
public:
    /// `path` is absolute or "~/...". One open recording of a session at a time: a reader opened
    /// before answers of this one.
    static Result<std::unique_ptr<RemoteReader>> open(std::shared_ptr<RemoteSession> session,
                                                      const std::string& path);

    /// Some process there was writing the recording when it was opened.
    [[nodiscard]] bool wasBeingWritten() const { return m_beingWritten; }

    Result<RecordingSummary> summary() override;
    std::string_view text(RankId rank, StringId id) override;
    Result<RankEvents> rankEvents(RankId rank, TimeRange range) override;
    Result<std::vector<SpanEvent>> spans(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<SpanEvent>> spansNaming(RankId rank, LaneId lane, TimeRange range,
                                               const std::vector<StringId>& texts) override;
    Result<std::vector<std::vector<LaneSlice>>> spans(const std::vector<LaneAddress>& lanes,
                                                      const View& view) override;
    Result<std::vector<std::vector<CounterSlice>>> counters(const std::vector<LaneAddress>& lanes,
                                                            const View& view) override;
    Result<std::vector<CounterEvent>> samples(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<MemoryEvent>> memoryEvents(RankId rank, TimeRange range) override;
    Result<std::vector<MemoryEvent>> liveMemory(RankId rank, Timestamp time) override;
    Result<std::vector<InstantEvent>> instants(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<FlowEvent>> flows(RankId rank, LaneId lane, TimeRange range) override;
    Result<std::vector<FlowArrow>> arrowsOf(RankId rank, LaneId lane, Timestamp start,
                                            std::uint8_t depth) override;
    Result<TableResult> query(const std::string& sql) override;

private:
    RemoteReader(std::shared_ptr<RemoteSession> session, bool beingWritten)
        : m_session(std::move(session)),
          m_beingWritten(beingWritten),
          m_arguments(kArgumentBytes) {}

    /// Texts from `first` on, as many as there are of them up to `count`.
    std::vector<std::string> textsFrom(RankId rank, StringId first, std::uint32_t count);
    std::string_view name(RankId rank, StringId id);
    std::string_view arguments(RankId rank, StringId id);

    static constexpr std::size_t kArgumentBytes = std::size_t{16} << 20;

    std::shared_ptr<RemoteSession> m_session;
    bool m_beingWritten;
    KnownTexts m_names;  ///< those that were asked for
    /// Not there when last asked for; a recording that grows may have them later.
    std::set<std::pair<RankId, StringId>> m_unknown;
    /// Blocks of arguments by rank and first id.
    BoundedCache<std::vector<std::string>> m_arguments;
    std::string m_last;  ///< the arguments that text() gave last
};

}  // namespace shardscope::storage::remote
