// Puts the spans of one lane on tracks in which they nest.
//
// Most lanes need one. Where spans overlap without one enclosing the other (kernels of parallel
// graph branches), what does not fit goes to an extra track.
#pragma once

#include "storage/model/events.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shardscope::interchange {

/// `Item` is what the caller hangs on an open span. Memory: the open spans.
template <class Item>
class NestedTracks {
public:
    struct Open {
        SpanEvent span;
        Timestamp end;
        Item item{};
    };
    using Track = std::vector<Open>;  ///< open spans, outermost first

    /// Spans by start, enclosing ones first. `end(track, stack)` is called for each span that is
    /// over before this one, with it on top of `stack`; then `begin(track, stack)` for this one.
    template <class Begin, class End>
    void add(const SpanEvent& span, Begin begin, End end) {
        const Timestamp until = std::max(span.end(), span.start);
        closeUntil(span.start, end);
        const std::size_t at = fittingTrack(span, until);
        if (at == m_tracks.size()) m_tracks.emplace_back();
        m_tracks[at].push_back({span, until, {}});
        begin(at, m_tracks[at]);
    }
    template <class End>
    void finish(End end) {
        for (std::size_t at = 0; at < m_tracks.size(); ++at) close(at, end);
    }
    [[nodiscard]] std::size_t count() const { return m_tracks.size(); }

private:
    template <class End>
    void close(std::size_t at, End end) {
        while (!m_tracks[at].empty()) {
            end(at, m_tracks[at]);
            m_tracks[at].pop_back();
        }
    }
    template <class End>
    void closeUntil(Timestamp time, End end) {
        for (std::size_t at = 0; at < m_tracks.size(); ++at) {
            Track& track = m_tracks[at];
            while (!track.empty() && track.back().end <= time) {
                end(at, track);
                track.pop_back();
            }
        }
    }
    /// The track whose innermost open span is the nearest around `span` by depth; else an empty
    /// one, else any that fits, else a new one.
    [[nodiscard]] std::size_t fittingTrack(const SpanEvent& span, Timestamp until) const {
        std::size_t best = m_tracks.size();
        int bestRating = -1;
        for (std::size_t at = 0; at < m_tracks.size(); ++at) {
            const int rating = ratingOf(m_tracks[at], span, until);
            if (rating > bestRating) best = at, bestRating = rating;
        }
        return best;
    }
    [[nodiscard]] static int ratingOf(const Track& track, const SpanEvent& span, Timestamp until) {
        if (track.empty()) return 1;
        if (track.back().end < until) return -1;
        const int depth = track.back().span.depth;
        return depth < span.depth ? 2 + depth : 0;
    }

    std::vector<Track> m_tracks;
};

}  // namespace shardscope::interchange
