// RecordingReader of a file on this machine. One thread; owns its connection, caches and the
// threads that decode.
#pragma once

#include "storage/recording/file/chunk_directory.h"
#include "storage/recording/read/argument_texts.h"
#include "storage/recording/read/collective_rows.h"
#include "storage/recording/read/event_source.h"
#include "storage/recording/read/pyramid_source.h"
#include "storage/recording/read/questions.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/sqlite/read_ahead.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace shardscope::storage {

struct KnownChunks {
    std::string file;  ///< fileState()
    std::string runId;
    ChunkDirectory directory;
};

class LocalReader : public RecordingReader {
public:
    static Result<std::unique_ptr<RecordingReader>> open(
        const std::string& path, std::size_t threads,
        const std::shared_ptr<const KnownChunks>& known);

    [[nodiscard]] std::shared_ptr<const KnownChunks> knownChunks() const override;

    std::string_view text(RankId rank, StringId id) override;
    Result<void> answer(const AnyRequest& request) override;

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

    /// What it answers through a connection, a function a question.
    struct Answers;

    LocalReader(std::string path, std::size_t threads)
        : m_path(std::move(path)), m_events(threads) {}
    Result<void> connect();
    void readAhead(Connection& connection);
    /// Of questions that take more than a few lines.
    Result<RankEvents> eventsOfRank(Connection& connection, RankId rank, TimeRange range);
    Result<std::vector<MemoryEvent>> memoryAt(Connection& connection, RankId rank, Timestamp time);
    Result<TableResult> runQuery(const SqlQuery& asked);
    /// Makes tables of packed rows for this connection, once. Before strings and collectives are
    /// read; of a file that grows only then.
    Result<void> unpack(Connection& connection);
    Result<void> loadStrings(Connection& connection, RankId rank);
    [[nodiscard]] std::string_view knownString(RankId rank, StringId id) const;
    std::string_view string(Connection& connection, RankId rank, StringId id);

    std::string m_path;
    std::string m_file;  ///< fileState() before it was first read
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
    ReadAhead m_readAhead;
};

// All small tables of a recording as one RecordingSummary. Part of the reader.

Result<RecordingSummary> readSummary(Connection& connection, const ChunkDirectory& chunks);

}  // namespace shardscope::storage
