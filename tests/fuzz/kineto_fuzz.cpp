// libFuzzer on what reads the text of a Kineto trace: windows, events, numbers, and
// on what finds its devices and pairs its begins and ends.
//
// First byte: how large the pieces are in which the source gives its bytes.
#include "storage/interchange/decimal.h"
#include "storage/interchange/kineto/in/event.h"
#include "storage/interchange/kineto/in/event_pairs.h"
#include "storage/interchange/kineto/in/event_stream.h"
#include "storage/interchange/kineto/in/rank_layout.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace shardscope::interchange::kineto {
namespace {

class Pieces : public ByteSource {
public:
    Pieces(std::span<const char> bytes, std::size_t piece) : m_bytes(bytes), m_piece(piece) {}
    Result<std::size_t> read(std::span<char> into) override {
        const std::size_t count = std::min({into.size(), m_piece, m_bytes.size()});
        std::copy_n(m_bytes.begin(), count, into.begin());
        m_bytes = m_bytes.subspan(count);
        return count;
    }
    [[nodiscard]] double share() const override { return 0; }

private:
    std::span<const char> m_bytes;
    std::size_t m_piece;
};

void require(bool condition) {
    if (!condition) std::abort();
}

void readEvents(std::string_view window) {
    Event event;
    while (const std::size_t length = readEvent(window, event)) {
        require(length <= window.size());
        window.remove_prefix(length);
        static_cast<void>(parseMicroseconds(event.time));
        static_cast<void>(textOf(event.name));
        for (const Member& member : event.members) static_cast<void>(textOf(member.value));
        if (event.flags.nonFinite) static_cast<void>(quoteNonFinite(event.arguments));
    }
}

/// What finds out whose rows are whose, and pairs begins with ends.
void survey(std::string_view window, EventPairs& pairs) {
    DeviceRows rows;
    LayoutSurvey survey;
    Event event;
    std::int64_t time = 0;
    while (const std::size_t length = readEvent(window, event)) {
        rows.name(event);
        survey.add(event, categoryIn(event, rows));
        const std::string_view phase = bare(event.phase);
        if (phase.size() == 1 && std::string_view("BEbeSF").find(phase) != std::string_view::npos)
            pairs.add(event, Timestamp{parseMicroseconds(bare(event.time))
                                           .value_or(Nanoseconds{time++, false})
                                           .value});
        window.remove_prefix(length);
    }
    for (const bool states : {false, true}) {
        const RankLayout layout = survey.settle(rows, states, states ? 4 : 0);
        require(!layout.ranks.empty());
        for (const auto& [row, place] : layout.ofDevice) require(place < layout.ranks.size());
        for (const auto& [row, place] : layout.ofHost) require(place < layout.ranks.size());
        for (const RankLayout::Rank& rank : layout.ranks) require(rank.first < layout.ranks.size());
    }
}

void readTrace(std::span<const char> bytes, std::size_t piece) {
    Pieces source(bytes, piece);
    EventStream stream(source, "fuzz", {64, 4096, 256});
    EventPairs pairs({[](const EventPairs::Part& begin, const EventPairs::Part& end) {
                          require(!begin.text.empty() && !end.text.empty());
                      },
                      [](const char*) {}},
                     piece % 2 == 0);
    while (true) {
        auto window = stream.next();
        if (!window || !*window) break;
        readEvents({(*window)->data(), (*window)->size()});
        survey({(*window)->data(), (*window)->size()}, pairs);
    }
    pairs.finish();
}

}  // namespace
}  // namespace shardscope::interchange::kineto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::span text(reinterpret_cast<const char*>(data) + 1, size - 1);
    shardscope::interchange::kineto::readTrace(text, std::size_t{1} + data[0]);
    return 0;
}
