// Writes a pickle that PyTorch's memory viewer reads: protocol 4, no frames, its opcodes only.
#pragma once

#include "storage/interchange/formats/export_writer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::interchange {

/// Values are written where they stand; containers are opened and closed around them. A key or
/// text that was written before is a reference to it.
class PickleWriter {
public:
    explicit PickleWriter(ExportWriter& writer);

    void beginDict() { put("}("); }  ///< then key, value, key, value
    void endDict() { put("u"); }
    void beginList() { put("]("); }  ///< then items
    void endList() { put("e"); }
    /// Closes the open list's batch, so that a reader's stack stays small; the list goes on.
    void nextItems() { put("e("); }
    void beginTuple() { put("("); }  ///< then items
    void endTuple() { put("t"); }
    void text(std::string_view text);
    void real(double value);
    void integer(std::int64_t value);
    void boolean(bool value) { put(value ? "\x88" : "\x89"); }
    void none() { put("N"); }

    void entry(std::string_view key, std::int64_t value) { text(key), integer(value); }
    void entry(std::string_view key, std::string_view value) { text(key), text(value); }

    /// Remembers the value just written, to be written again by recall().
    std::uint32_t remember();
    void recall(std::uint32_t memo);

    void stop() { put("."); }

private:
    void put(std::string_view bytes) { m_writer.write(bytes); }
    void little(std::uint64_t value, int bytes);

    ExportWriter& m_writer;
    std::uint32_t m_memos = 0;
    std::unordered_map<std::string, std::uint32_t> m_texts;
};

}  // namespace shardscope::interchange
