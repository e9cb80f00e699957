// libFuzzer on what `shardscope record` reads from agents and ranks: frames, messages, the fronts
// of chunks.
//
// First byte: how large the pieces are in which the stream arrives.
#include "engine/run/protocol/frame.h"
#include "engine/run/protocol/messages.h"
#include "storage/columns/chunk.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace shardscope::run {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// What was understood is written such that it is understood the same way again.
void readMessage(std::string_view text) {
    const auto message = decode(text);
    if (!message) {
        require(!message.error().message.empty());
        return;
    }
    const std::string again = encode(*message);
    const auto twice = decode(again);
    require(twice && twice->index() == message->index());
    require(encode(*twice) == again);
}

void readFrame(const Frame& frame) {
    const auto bytes = encodeFrame(frame.type, frame.rank, frame.payload);
    require(bytes.size() == kFrameHeaderBytes + frame.payload.size());
    if (frame.type == FrameType::kMessage)
        readMessage(frame.text());
    else
        static_cast<void>(columns::decodeHeader(frame.payload));
}

/// Whatever pieces a stream comes in, its frames are the same.
std::size_t readStream(std::span<const std::byte> bytes, std::size_t piece, bool read) {
    FrameParser parser;
    std::size_t frames = 0;
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(piece, bytes.size()));
        bytes = bytes.subspan(part.size());
        parser.append(part);
        while (true) {
            auto frame = parser.next();
            if (!frame) return frames;
            if (!*frame) break;
            ++frames;
            if (read) readFrame(**frame);
        }
    }
    return frames;
}

}  // namespace
}  // namespace shardscope::run

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace shardscope::run;
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    const std::size_t whole = readStream(bytes, bytes.size(), false);
    require(readStream(bytes, std::size_t{1} + data[0], true) == whole);
    return 0;
}
