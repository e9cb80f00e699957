// libFuzzer on the reader of memory snapshots: any bytes as a pickle, then the walk over it.
#include "storage/interchange/memory_snapshot/snapshot_walk.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace shardscope::interchange {
namespace {

class BytesSource : public ByteSource {
public:
    BytesSource(const std::uint8_t* data, std::size_t size) : m_data(data), m_left(size) {}
    Result<std::size_t> read(std::span<char> into) override {
        const std::size_t part = std::min(into.size(), m_left);
        if (part > 0) std::memcpy(into.data(), m_data, part);
        m_data += part;
        m_left -= part;
        return part;
    }
    [[nodiscard]] double share() const override { return 0; }

private:
    const std::uint8_t* m_data;
    std::size_t m_left;
};

void walk(const PickleDocument& document) {
    if (!checkSnapshot(document)) return;
    ImportAccount account;
    SnapshotListener listener;
    listener.allocation = [&](const SnapshotAllocation& a) {
        for (const PickleValue frame : document.items(a.frames))
            static_cast<void>(document.text(frame, "name"));
    };
    listener.incident = [](const SnapshotIncident&) {};
    for (const std::size_t device : devicesOf(document))
        walkDevice(document, device, firstTimeUs(document), listener, account);
    if (account.kept + account.rejected() != account.read) __builtin_trap();
}

}  // namespace
}  // namespace shardscope::interchange

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace shardscope::interchange;
    BytesSource source(data, size);
    const auto document = readPickle(source, std::size_t{1} << 20);
    if (document) walk(*document);
    return 0;
}
