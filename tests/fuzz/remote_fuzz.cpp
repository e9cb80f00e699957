// libFuzzer on what a reader and who serves it read from each other: frames, calls, answers.
//
// First byte: what the rest is taken for.
#include "storage/recording/remote/calls.h"
#include "storage/recording/remote/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace shardscope::storage::remote {
namespace {

constexpr std::size_t kBudget = std::size_t{16} << 20;

void require(bool condition) {
    if (!condition) std::abort();
}

/// What was understood is written such that it is understood the same way again.
template <class T>
void readValue(std::span<const std::byte> bytes) {
    T value{};
    columns::wire::Reader in(bytes, kBudget);
    in.get(value);
    if (!in.isWhole()) return;
    columns::wire::Writer out;
    out.put(value);
    const auto again = out.take();
    T twice{};
    columns::wire::Reader back(again, 4 * kBudget);
    back.get(twice);
    require(back.isWhole());
    columns::wire::Writer last;
    last.put(twice);
    require(last.take() == again);
}

template <std::size_t Index = 0>
void readAs(std::size_t kind, std::span<const std::byte> bytes) {
    if constexpr (Index < std::variant_size_v<Call>) {
        using Asked = std::variant_alternative_t<Index, Call>;
        if (kind == 2 * Index) return readValue<Asked>(bytes);
        if (kind == 2 * Index + 1) return readValue<typename Asked::Answer>(bytes);
        readAs<Index + 1>(kind, bytes);
    } else {
        readValue<std::vector<NamedText>>(bytes);
    }
}

std::size_t framesIn(std::span<const std::byte> bytes, std::size_t piece) {
    FrameParser parser;
    std::size_t frames = 0;
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(piece, bytes.size()));
        bytes = bytes.subspan(part.size());
        parser.append(part);
        while (true) {
            const auto frame = parser.next();
            if (!frame) return frames;
            if (!*frame) break;
            ++frames;
        }
    }
    return frames;
}

}  // namespace
}  // namespace shardscope::storage::remote

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace shardscope::storage::remote;
    if (size == 0) return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    if (data[0] < 128)
        readAs(data[0], bytes);
    else
        require(framesIn(bytes, data[0] - 127u) == framesIn(bytes, bytes.size()));
    return 0;
}
