// RecordingReader of a file on this machine. One thread; owns its connection, caches and the
// threads that decode.
#pragma once

#include "storage/recording/read/argument_texts.h"
#include "storage/recording/read/collective_rows.h"
#include "storage/recording/read/event_source.h"
#include "storage/recording/read/pyramid_source.h"
#include "storage/recording/read/recording_reader.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace shardscope::storage {

class LocalReader : public RecordingReader {
public:
    static Result<std::unique_ptr<RecordingReader>> open(const std::string& path,
                                                         std::size_t threads);

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
    /// The connection for one call. A recording that still grows is closed again after each, so
    /// that its writer can finalise it into one file.
    class Visit {
    public:
        explicit Visit(LocalReader& reader) : m_reader(&reader) {}
        ~Visit() {
            if (m_reader->m_growing) m_reader->m_connection.reset();
        }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        Result<void> begin();
        [[nodiscard]] Connection& connection() const { return *m_reader->m_connection; }

    private:
        LocalReader* m_reader;
    };

    LocalReader(std::string path, std::size_t threads)
        : m_path(std::move(path)), m_events(threads) {}
    Result<void> connect();
    /// Makes tables of packed rows for this connection, once. Before strings and collectives are
    /// read; of a file that grows only then.
    Result<void> unpack(Connection& connection);
    Result<void> loadStrings(Connection& connection, RankId rank);
    [[nodiscard]] std::string_view knownString(RankId rank, StringId id) const;
    std::string_view string(Connection& connection, RankId rank, StringId id);

    std::string m_path;
    std::optional<Connection> m_connection;
    std::string m_runId;
    bool m_growing = false;   ///< not finalised when last looked at
    bool m_unpacked = false;  ///< by this connection
    bool m_packed = false;    ///< the file has packed rows: nothing is added to them any more
    EventSource m_events;
    PyramidSource m_pyramid;
    CollectiveRows m_collectives;

    struct Strings {
        std::unordered_map<std::uint32_t, std::string> texts;  ///< views into it stay valid
        std::int64_t lastId = 0;
        bool whole = false;  ///< no more can come
    };
    std::unordered_map<RankId, Strings> m_strings;
    ArgumentTexts m_arguments;
};

}  // namespace shardscope::storage
