// A Chrome JSON trace as windows of whole events, in constant memory.
//
// Looks only for where events end (brackets outside strings), so that it runs at memory speed;
// what an event holds is for who reads the window. Where a quote or a bracket is missing, all
// behind it would be read wrong: it goes on with the next sound event. All else at the top level is
// kept as metadata.
#pragma once

#include "storage/interchange/byte_source.h"
#include "storage/interchange/kineto/in/window_scan.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange::kineto {

struct StreamLimits {
    std::size_t window = std::size_t{4} << 20;        ///< bytes read at a time
    std::size_t mostEvent = std::size_t{16} << 20;    ///< a longer event is refused
    std::size_t mostMetadata = std::size_t{1} << 20;  ///< of one key; longer values are left out
};

class EventStream {
public:
    EventStream(ByteSource& source, const std::string& name, StreamLimits limits = {});

    /// The next events, comma-separated, without white space, writable until the next call;
    /// nothing at the end. kUnreadable when this is no trace.
    Result<std::optional<std::span<char>>> next();

    /// Top-level keys other than traceEvents with their JSON, those read so far.
    [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return m_metadata; }
    /// Sentences: what was left out of the metadata.
    [[nodiscard]] const std::vector<std::string>& notes() const { return m_notes; }
    /// The file ended within an event, or before its closing bracket.
    [[nodiscard]] bool cutOff() const { return m_cutOff; }
    /// Events whose brackets or quotes do not match: what follows the next sound event was read on.
    [[nodiscard]] std::uint64_t malformed() const { return m_malformed; }
    /// Bytes behind the end of the JSON document: another one, or garbage. Known at the end.
    [[nodiscard]] std::uint64_t trailingBytes() const { return m_trailing; }

private:
    enum class Place { kStart, kTopLevel, kEvents, kEnd };

    Result<bool> refill();
    Result<int> peek();
    Result<void> open();
    Result<void> readTopLevel();
    Result<void> readKey();
    Result<std::string> readString();
    Result<std::string> readValue(const std::string& key);
    Result<std::optional<std::span<char>>> nextWindow();
    std::span<char> dense(std::size_t count);
    [[nodiscard]] tl::unexpected<Error> refuse(const std::string& what) const;
    [[nodiscard]] tl::unexpected<Error> noTrace() const;
    void endCutOff();
    [[nodiscard]] bool resume();
    [[nodiscard]] bool isSoundEvent(std::size_t at, std::size_t& scanned) const;
    void endWithin();
    Result<void> skipTrailing();

    ByteSource* m_source;
    std::string m_name;
    StreamLimits m_limits;
    Place m_place = Place::kStart;
    bool m_bareArray = false;
    bool m_sawEvents = false;
    bool m_cutOff = false;
    bool m_sourceEnded = false;
    std::vector<char> m_buffer;
    std::size_t m_at = 0;   ///< first byte not yet used
    std::size_t m_end = 0;  ///< after the last byte read
    std::uint64_t m_dropped = 0;
    std::uint64_t m_trailing = 0;
    std::uint64_t m_malformed = 0;
    WindowScan m_scan;
    std::vector<char> m_dense;
    std::map<std::string, std::string> m_metadata;
    std::vector<std::string> m_notes;
};

}  // namespace shardscope::interchange::kineto
