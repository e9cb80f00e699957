// libFuzzer on what a recorded process says to its recorder: any program can open the socket.
//
// The first byte is the size of the pieces in which the rest arrives. What is read is written again
// as it came, and chunks are moved to a later attempt or refused.
#include "engine/launch/program/program_peer.h"
#include "profiler/capture/program_link.h"
#include "storage/columns/chunk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>
#include <vector>

namespace shardscope {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check(const capture::LinkMessage& message) {
    const std::vector<std::byte> written = capture::encodeLink(message);
    capture::LinkReader again;
    again.append(written);
    const auto same = again.next();
    require(same && same->has_value());
    require(capture::encodeLink(**same) == written);
    if (const auto* chunk = std::get_if<capture::EventChunk>(&message)) {
        launch::AttemptOffsets offsets;
        offsets.attempt = 1;
        offsets.strings = 7;
        offsets.steps = 3;
        const auto moved = launch::rebased(chunk->bytes, RankId{1}, offsets);
        if (!moved) return;
        const auto header = columns::decodeHeader(*moved);
        require(header && header->rank == RankId{1});
    }
}

}  // namespace
}  // namespace shardscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t piece = std::max<std::size_t>(data[0], 1);
    auto rest = std::as_bytes(std::span(data + 1, size - 1));
    shardscope::capture::LinkReader reader;
    while (!rest.empty()) {
        const auto now = rest.first(std::min(piece, rest.size()));
        reader.append(now);
        rest = rest.subspan(now.size());
        for (auto message = reader.next();; message = reader.next()) {
            if (!message) return 0;
            if (!*message) break;
            shardscope::check(**message);
        }
    }
    return 0;
}
