// Any bytes as a Perfetto trace: refused or read, in bounded memory.
#include "storage/interchange/perfetto/read_packets.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace shardscope;
using namespace shardscope::interchange;

/// Looks at every byte that it is given.
class Sink : public PerfettoHandler {
public:
    void process(const ProcessDescription& process) override { see(process.run.model); }
    void lane(const LaneFacts& lane) override { see(lane.name); }
    void slice(RankId, const ReadSlice& slice) override {
        see(slice.name);
        see(slice.arguments);
        if (slice.span.duration.ns < 0) __builtin_trap();
    }
    void sample(RankId, const CounterEvent& sample) override { m_seen += sample.value > 0 ? 1 : 0; }
    void fact(RankId, const ReadFact& fact) override {
        see(fact.name);
        see(fact.members);
    }
    void reject(const char* reason) override { see(reason); }

private:
    void see(std::string_view text) {
        for (const char c : text) m_seen += static_cast<unsigned char>(c);
    }
    volatile std::uint64_t m_seen = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Sink sink;
    PerfettoReader::Limits limits;
    limits.mostNames = 100'000;
    limits.mostOpen = limits.mostTracks = 1000;
    PerfettoReader reader(sink, "fuzz", limits);
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    // In two pieces, as a file comes in blocks.
    const std::size_t half = size / 2;
    const auto first = reader.take(bytes.substr(0, half));
    if (!first) return 0;
    const auto second = reader.take(bytes.substr(*first));
    if (second) reader.finish(size - *first - *second);
    return 0;
}
