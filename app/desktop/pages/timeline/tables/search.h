// Find on the Timeline: events whose name or arguments hold a text, a piece of the recording at a
// time, so that the first are there at once and a newer search takes over soon. Functions of a
// reader; they run on the loader thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/timeline_frame.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QRegularExpression>
#include <QString>
#include <bitset>
#include <chrono>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

namespace shardscope::desktop {

struct SearchText {
    QString text;
    bool isPattern = false;  ///< a regular expression

    [[nodiscard]] bool isEmpty() const { return text.isEmpty(); }
    /// Empty: it can be searched for.
    [[nodiscard]] QString error() const;
    friend bool operator==(const SearchText&, const SearchText&) = default;
};

/// Whether a text holds what is searched for, whatever the case.
class TextMatcher {
public:
    explicit TextMatcher(const SearchText& search);
    [[nodiscard]] bool operator()(const QString& text) const;

private:
    QString m_text;
    std::optional<QRegularExpression> m_pattern;
};

struct SearchHit {
    LaneAddress key;
    SpanEvent span;
    QString name;
    bool byArguments = false;  ///< the name does not have it
};

/// What was found so far.
struct SearchResult {
    std::uint64_t count = 0;         ///< of all matches
    std::vector<SearchHit> hits;     ///< by start; the first of them that fit
    std::vector<Timestamp> moments;  ///< of all matches, no closer than a minimap can show
    double done = 0;                 ///< share of the recording
    bool argumentsLeftOut = false;   ///< those of imported traces, on another host

    [[nodiscard]] bool isComplete() const { return done >= 1; }
    [[nodiscard]] bool isCut() const { return count > hits.size(); }
};
using SearchResultPtr = std::shared_ptr<const SearchResult>;

/// A search that goes on from piece to piece. Made on any thread, then used by one at a time.
class Search {
public:
    /// More matches are counted, but not listed.
    static constexpr std::size_t kMostHits = 10'000;
    /// Time resolution at which matches are distinguished.
    static constexpr std::size_t kMoments = 4096;

    /// Lanes of `ranks`, all where none is named. `remote`: the recording is on another host.
    Search(const SearchText& text, const RecordingSummary& summary,
           const std::vector<RankId>& ranks, bool remote);
    /// Searches on for about `time`, at least one piece.
    Result<SearchResultPtr> searchOn(storage::RecordingReader& reader,
                                     const storage::Generation& generation,
                                     std::chrono::milliseconds time);

private:
    struct Strings {
        std::vector<StringId> matching;      ///< by id
        std::unordered_set<StringId> known;  ///< the same
        StringId last;              ///< arguments beyond it are put together for each event
        bool hasArguments = false;  ///< there are such
    };
    struct Piece {
        LaneAddress key;
        TimeRange range;
        bool arguments = false;  ///< those that are put together for each event
    };
    Result<const Strings*> stringsOf(storage::RecordingReader& reader, RankId rank);
    Result<void> searchPiece(storage::RecordingReader& reader, const Piece& piece);
    void add(storage::RecordingReader& reader, const Piece& piece, const SpanEvent& span,
             bool byArguments);
    [[nodiscard]] SearchResultPtr result() const;

    TextMatcher m_matches;
    TimeRange m_bounds;
    std::vector<Piece> m_pieces;
    std::size_t m_next = 0;
    std::map<RankId, Strings> m_strings;
    std::uint64_t m_count = 0;
    std::vector<SearchHit> m_hits;
    std::bitset<kMoments> m_moments;
    bool m_remote = false;
};

// The table of what a search found. Pure.

[[nodiscard]] std::vector<TableColumn> foundColumns();
[[nodiscard]] TableRows foundRows(const RecordingSummary& summary, const SearchResult& result);
/// Of a match that is no part of the training: "in calibration, before the first step"; empty: it
/// is.
[[nodiscard]] QString placeOf(const SearchHit& hit, const RecordingSummary& summary);
/// "3,402 matches", and what of them the table leaves out.
[[nodiscard]] QString foundCaption(const SearchResult& result);

}  // namespace shardscope::desktop
