// A Perfetto trace that Shardscope wrote, packet by packet, in bounded memory.
//
// Knows the wire format and what the exporter puts into it; what becomes of it is for the handler,
// so that hostile bytes can be tried without a recording.
#pragma once

#include "storage/interchange/byte_source.h"
#include "storage/interchange/perfetto/descriptions.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::interchange {

/// A slice that is whole. Views are valid during the call only.
struct ReadSlice {
    LaneId lane;
    SpanEvent span;  ///< without its texts
    std::string_view name;
    std::string_view arguments;  ///< JSON object, other text as it was, or empty
};
/// An instant of what lies on no lane.
struct ReadFact {
    Timestamp time;
    std::string_view name;
    std::string_view category;
    std::string_view members;  ///< JSON object
};

/// An instant of a lane. Views are valid during the call only.
struct ReadInstant {
    InstantEvent instant;  ///< without its texts
    std::string_view name;
    std::string_view arguments;
};

class PerfettoHandler {
public:
    virtual ~PerfettoHandler() = default;
    virtual void process(const ProcessDescription& process) = 0;
    virtual void lane(const LaneFacts& lane) = 0;
    virtual void slice(RankId rank, const ReadSlice& slice) = 0;
    virtual void instant(RankId, const ReadInstant&) {}
    virtual void sample(RankId rank, const CounterEvent& sample) = 0;
    virtual void fact(RankId rank, const ReadFact& fact) = 0;
    virtual void reject(const char* reason) = 0;
};

class PerfettoReader {
public:
    struct Limits {
        std::size_t mostPacket = std::size_t{16} << 20;
        std::size_t mostNames = std::size_t{64} << 20;  ///< bytes
        std::size_t mostTracks = 100'000;
        std::size_t mostOpen = 100'000;
        std::size_t mostRanks = 256;  ///< each has caches of its own when it is written
    };
    PerfettoReader(PerfettoHandler& handler, std::string name)
        : PerfettoReader(handler, std::move(name), Limits{}) {}
    PerfettoReader(PerfettoHandler& handler, std::string name, Limits limits)
        : m_handler(&handler), m_name(std::move(name)), m_limits(limits) {}

    /// Takes whole packets from the front of `bytes` and says how many bytes they had. kUnreadable
    /// with a sentence: no Perfetto trace, one of another program, or beyond a limit.
    Result<std::size_t> take(std::string_view bytes);
    /// After the last bytes; `rest` of them are left.
    void finish(std::size_t rest);

private:
    enum class Kind : std::uint8_t { kProcess, kLane, kCounter, kFacts };
    struct Open {
        SpanEvent span;
        std::string name, arguments;
        InstantScope scope = InstantScope::kThread;
    };
    struct Track {
        Kind kind = Kind::kProcess;
        RankId rank;
        LaneId lane;
        Duration shift;
        std::vector<Open> open;
    };
    using Names = std::unordered_map<std::uint64_t, std::string>;
    struct Event;

    Result<void> packet(std::string_view bytes);
    Result<void> intern(std::string_view bytes);
    Result<void> describe(std::string_view bytes);
    Result<void> event(std::string_view bytes, std::int64_t time);
    [[nodiscard]] static Open openOf(const Track& track, const Event& event, Timestamp time);
    void begin(Track& track, const Event& event, Timestamp time);
    void end(Track& track, Timestamp time);
    void clear();
    [[nodiscard]] Event parse(std::string_view bytes) const;
    void annotation(std::string_view bytes, Event& event) const;
    [[nodiscard]] tl::unexpected<Error> refuse(const std::string& why) const;
    [[nodiscard]] tl::unexpected<Error> foreign() const;

    PerfettoHandler* m_handler;
    std::string m_name;
    Limits m_limits;
    Names m_categories, m_names, m_annotationNames;
    Names m_texts;  ///< values of annotations
    std::size_t m_nameBytes = 0;
    std::unordered_map<std::uint64_t, Track> m_tracks;
    std::size_t m_open = 0;
    std::size_t m_ranks = 0;
    std::uint64_t m_offset = 0;
};

}  // namespace shardscope::interchange
