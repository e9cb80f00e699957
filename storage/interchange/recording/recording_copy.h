// Copies a recording, or a part of one, into another that is being written: strings and arguments
// numbered anew, memory that was alive before the part allocated at its beginning, and time moved
// where several recordings are joined. Internal to storage/interchange.
#pragma once

#include "storage/interchange/argument_splitter.h"
#include "storage/interchange/held_steps.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange {

/// Strings of one rank that the part needs, numbered anew.
class StringSubset {
public:
    StringSubset(storage::RecordingReader& reader, RankId rank) : m_reader(&reader), m_rank(rank) {}

    StringId keep(StringId id) {
        if (id == kEmptyString) return id;
        return idOf(id.value, std::string(m_reader->text(m_rank, id)));
    }
    /// The same text, marked as standing for what was there before the part begins.
    StringId keepMarked(StringId id) {
        const std::string text(m_reader->text(m_rank, id));
        return idOf(kMark | id.value,
                    text.empty() ? "(alive before the part)" : text + " (alive before the part)");
    }
    /// A text that the part needs and the recording may not have by itself.
    StringId intern(std::string_view text) {
        if (const auto at = m_interned.find(text); at != m_interned.end()) return at->second;
        m_texts.emplace_back(text);
        const StringId id{static_cast<std::uint32_t>(m_texts.size())};
        m_interned.emplace(text, id);
        return id;
    }
    [[nodiscard]] const std::vector<std::string>& texts() const { return m_texts; }

private:
    static constexpr std::uint64_t kMark = std::uint64_t{1} << 32;

    StringId idOf(std::uint64_t key, std::string text) {
        const auto next = static_cast<std::uint32_t>(m_texts.size() + 1);
        const auto [at, added] = m_ids.try_emplace(key, StringId{next});
        if (added) m_texts.push_back(std::move(text));
        return at->second;
    }

    storage::RecordingReader* m_reader;
    RankId m_rank;
    std::unordered_map<std::uint64_t, StringId> m_ids;
    std::map<std::string, StringId, std::less<>> m_interned;
    std::vector<std::string> m_texts;
};

/// Arguments of one rank's spans, split and numbered anew.
class ArgumentSubset {
public:
    ArgumentSubset(storage::RecordingReader& reader, storage::RecordingWriter& writer, RankId rank,
                   StringSubset& strings)
        : m_reader(&reader),
          m_rank(rank),
          m_splitter([&strings](std::string_view text) { return strings.intern(text); }),
          m_table([&writer, rank](StringId first, const columns::ArgumentRows& rows) {
              return writer.addArguments(rank, first, rows);
          }) {}

    StringId keep(StringId id) {
        const std::string_view json = m_reader->text(m_rank, id);
        if (json.empty()) return m_table.addNone();
        m_values.clear();
        const columns::ArgumentForm form = m_splitter.split(json, m_values);
        return m_table.add(form, m_values);
    }
    Result<void> flush() { return m_table.flush(); }

private:
    storage::RecordingReader* m_reader;
    RankId m_rank;
    ArgumentSplitter m_splitter;
    ArgumentTable m_table;
    std::vector<std::int64_t> m_values;
};

/// What several recordings say of the run as a whole, said once.
class SharedFacts {
public:
    /// The number of a host in the output, and whether it is new there.
    std::pair<std::int32_t, bool> host(const HostFacts& host);
    /// Whether it is new.
    bool metric(const MetricPoint& metric);
    bool diagnostic(const Diagnostic& diagnostic);

private:
    std::map<std::pair<std::string, std::string>, std::int32_t> m_hosts;  ///< by boot and name
    std::set<std::int32_t> m_hostNumbers;
    std::set<std::tuple<std::string, std::int32_t, std::int64_t>> m_metrics;
    std::set<std::tuple<std::string, std::string, std::int64_t>> m_diagnostics;
};

struct CopyScope {
    TimeRange range;            ///< of the input's clock
    bool cut = false;           ///< something lies outside of it
    std::vector<RankId> ranks;  ///< empty: all
    Duration shift;             ///< the input's clock + shift is the output's
    std::function<bool(double)> progress;
};

class RecordingCopy {
public:
    /// All must outlive it. `all` is the reader's summary.
    RecordingCopy(storage::RecordingReader& reader, const RecordingSummary& all,
                  storage::RecordingWriter& writer, SharedFacts& shared, CopyScope scope)
        : m_reader(reader),
          m_all(all),
          m_writer(writer),
          m_shared(shared),
          m_scope(std::move(scope)),
          m_held(heldSteps()) {}

    /// Everything but the run's row. kCancelled when `progress` says so.
    Result<void> copy();
    /// Blocks that were alive before the part and are allocated at its beginning.
    [[nodiscard]] std::size_t synthetic() const { return m_synthetic; }

private:
    /// The steps of a rank that the part holds, and how far their events may reach beyond it:
    /// what is fetched ahead for the first, what of the last is still under way.
    struct OwnSteps {
        TimeRange reach;
        std::set<StepIndex> steps;
        [[nodiscard]] bool has(StepIndex step) const { return steps.contains(step); }
    };

    [[nodiscard]] bool wanted(RankId rank) const;
    [[nodiscard]] HeldSteps heldSteps() const;
    /// Within the part's range, or of one of its steps.
    template <class Event>
    [[nodiscard]] bool belongs(const OwnSteps& own, const Event& event, TimeRange range) const {
        return range.intersects(m_scope.range) || m_scope.range.contains(range.begin) ||
               own.has(event.step);
    }
    StringSubset& stringsOf(RankId rank);
    ArgumentSubset& argumentsOf(RankId rank);
    Result<void> writeFacts();
    Result<void> writeProcesses();
    Result<void> writeSteps();
    Result<void> writeDetail();
    Result<void> writeLane(const LaneFacts& lane);
    Result<void> writeSpans(const LaneFacts& lane, TimeRange window, bool first);
    Result<void> writeSamples(const LaneFacts& lane);
    /// Instants and flows of a lane.
    Result<void> writeMoments(const LaneFacts& lane, TimeRange window);
    StringId keep(RankId rank, StringId id);
    template <class Event>
    Result<void> writeEvents(RankId rank, std::vector<Event>& events);
    Result<void> writeMemory(RankId rank);
    Result<void> writeCollectives(RankId rank);
    Result<void> writeRank(RankFacts rank);
    template <class Event, class Encode>
    Result<void> writeChunks(RankId rank, std::span<const Event> events, Encode encode);

    storage::RecordingReader& m_reader;
    const RecordingSummary& m_all;
    storage::RecordingWriter& m_writer;
    SharedFacts& m_shared;
    CopyScope m_scope;
    HeldSteps m_held;
    std::map<RankId, StringSubset> m_strings;
    std::map<RankId, ArgumentSubset> m_arguments;  ///< stands on its rank's strings
    std::map<RankId, OwnSteps> m_ownSteps;
    std::map<RankId, std::uint64_t> m_stored;
    std::map<RankId, std::uint64_t> m_dropped;
    std::map<RankId, std::uint64_t> m_removed;  ///< on purpose, by the input's own account
    std::map<std::int32_t, std::int32_t> m_hosts;
    std::size_t m_synthetic = 0;
};

}  // namespace shardscope::interchange
