// Puts the spans of one lane on tracks in which they nest.
//
// Most lanes need one. Where spans overlap without one enclosing the other (kernels of parallel
// graph branches), what does not fit goes to an extra track.
#pragma once

#include "storage/model/events.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace shardscope::interchange {

/// `Item` is what the caller hangs on an open span. Memory: the open spans. Time: a logarithm of
/// the open tracks a span.
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
        const std::size_t at = m_many ? m_index.fitting(span, until) : fittingTrack(span, until);
        const std::size_t track = at < m_tracks.size() ? at : m_tracks.size();
        if (track == m_tracks.size()) m_tracks.emplace_back();
        unlist(track);
        m_tracks[track].push_back({span, until, {}});
        list(track);
        if (!m_many && m_tracks.size() > kFew) listAll();
        begin(track, m_tracks[track]);
    }
    template <class End>
    void finish(End end) {
        for (std::size_t at = 0; at < m_tracks.size(); ++at)
            while (!m_tracks[at].empty()) {
                end(at, m_tracks[at]);
                m_tracks[at].pop_back();
            }
        m_index = {};
    }
    [[nodiscard]] std::size_t count() const { return m_tracks.size(); }

private:
    /// Up to so many tracks looking at all of them is quicker than keeping them in order.
    static constexpr std::size_t kFew = 16;

    /// Tracks by when the innermost of their open spans ends, for when there are many.
    struct Index {
        using ByEnd = std::set<std::pair<Timestamp, std::size_t>>;
        ByEnd all;
        std::array<ByEnd, 256> ofDepth;
        std::set<std::size_t> empty;

        /// As fittingTrack(); of several that are alike the one whose span ends first.
        [[nodiscard]] std::size_t fitting(const SpanEvent& span, Timestamp until) const {
            for (std::size_t depth = span.depth; depth-- > 0;)
                if (const auto at = ofDepth[depth].lower_bound({until, 0});
                    at != ofDepth[depth].end())
                    return at->second;
            if (!empty.empty()) return *empty.begin();
            const auto any = all.lower_bound({until, 0});
            return any == all.end() ? std::numeric_limits<std::size_t>::max() : any->second;
        }
    };

    void list(std::size_t at) {
        if (!m_many) return;
        if (m_tracks[at].empty()) {
            m_index.empty.insert(at);
            return;
        }
        const Open& top = m_tracks[at].back();
        m_index.all.insert({top.end, at});
        m_index.ofDepth[top.span.depth].insert({top.end, at});
    }
    void unlist(std::size_t at) {
        if (!m_many) return;
        m_index.empty.erase(at);
        if (m_tracks[at].empty()) return;
        const Open& top = m_tracks[at].back();
        m_index.all.erase({top.end, at});
        m_index.ofDepth[top.span.depth].erase({top.end, at});
    }
    void listAll() {
        m_many = true;
        for (std::size_t at = 0; at < m_tracks.size(); ++at) list(at);
    }

    template <class End>
    void closeTop(std::size_t at, End end) {
        unlist(at);
        end(at, m_tracks[at]);
        m_tracks[at].pop_back();
        list(at);
    }
    template <class End>
    void closeUntil(Timestamp time, End end) {
        while (m_many && !m_index.all.empty() && m_index.all.begin()->first <= time)
            closeTop(m_index.all.begin()->second, end);
        for (std::size_t at = 0; !m_many && at < m_tracks.size(); ++at)
            while (!m_tracks[at].empty() && m_tracks[at].back().end <= time) closeTop(at, end);
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
    Index m_index;  ///< empty while there are few
    bool m_many = false;
};

}  // namespace shardscope::interchange
