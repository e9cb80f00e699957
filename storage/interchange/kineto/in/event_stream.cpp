#include "storage/interchange/kineto/in/event_stream.h"

#include "storage/interchange/kineto/in/event.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace shardscope::interchange::kineto {
namespace {

constexpr int kEndOfText = -1;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
/// simdjson writes whole registers.
constexpr std::size_t kPadding = 128;
/// Of an event that may be the first sound one; of all of them.
constexpr std::size_t kMostProbed = std::size_t{256} << 10;
constexpr std::size_t kMostScanned = std::size_t{64} << 20;
/// What a hostile file may spread over keys.
constexpr std::size_t kMostKeys = 4096;
constexpr std::size_t kMostKeyBytes = 4096;

bool isSpace(int c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Resolves what some writers escape without need (\u0070h for ph, \u003c for <), so that keys and
/// phases can be compared as they stand. In place; returns the new length.
std::size_t resolvePlain(std::span<char> text) {
    const std::string_view whole(text.data(), text.size());
    std::size_t to = 0, from = 0;
    for (std::size_t at = whole.find("\\u00"); at != std::string_view::npos;
         at = whole.find("\\u00", at + 1)) {
        const std::size_t first = whole.find_last_not_of('\\', at) + 1;
        unsigned code = 0;
        const char* const digits = text.data() + at + 4;
        const bool read = at + 6 <= whole.size() &&
                          std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
        const bool plain = code >= ' ' && code <= '~' && code != '"' && code != '\\';
        if (!read || !plain || at < from || (at - first) % 2 != 0) continue;
        std::memmove(text.data() + to, text.data() + from, at - from);
        to += at - from;
        text[to++] = static_cast<char>(code);
        from = at + 6;
    }
    std::memmove(text.data() + to, text.data() + from, text.size() - from);
    return to + text.size() - from;
}

/// Commas before and after elements.
std::span<char> trimmed(std::span<char> text) {
    while (!text.empty() && text.front() == ',') text = text.subspan(1);
    while (!text.empty() && text.back() == ',') text = text.first(text.size() - 1);
    return text;
}

}  // namespace

EventStream::EventStream(ByteSource& source, const std::string& name, StreamLimits limits)
    : m_source(&source), m_name(name), m_limits(limits), m_buffer(limits.window) {}

tl::unexpected<Error> EventStream::refuse(const std::string& what) const {
    return failure(ErrorCode::kUnreadable, m_name + " " + what);
}

tl::unexpected<Error> EventStream::noTrace() const {
    // "schema": "1.1.1-chakra.0.0.4" and the like; other programs have nodes too
    if (m_metadata.contains("nodes") && m_metadata.contains("schema"))
        return refuse(
            "is a PyTorch execution trace (a graph of operators without a timeline), not a "
            "profiler's trace: import what torch.profiler's export_chrome_trace wrote");
    if (m_metadata.contains("$schema") || m_metadata.contains("shared"))
        return refuse(
            "is a speedscope profile, not a Chrome trace: let its tool write folded stacks or a "
            "Chrome trace instead (py-spy: --format raw or chrometrace)");
    return refuse("is JSON, but no trace: it has no traceEvents");
}

/// Reads more behind what is there; false at the end of the source.
Result<bool> EventStream::refill() {
    if (m_sourceEnded) return false;
    if (m_at > 0) {
        std::memmove(m_buffer.data(), m_buffer.data() + m_at, m_end - m_at);
        m_dropped += m_at;
        m_end -= m_at;
        m_at = 0;
    }
    if (m_end == m_buffer.size()) {
        if (m_buffer.size() >= m_limits.mostEvent)
            return refuse("holds one event of more than " +
                          std::to_string(m_limits.mostEvent >> 20) + " MiB at byte " +
                          std::to_string(m_dropped) + ": it is damaged, or no trace");
        m_buffer.resize(std::min(m_buffer.size() * 2, m_limits.mostEvent));
    }
    auto count = m_source->read(std::span(m_buffer).subspan(m_end));
    if (!count) return failure(count);
    m_end += *count;
    m_sourceEnded = *count == 0;
    return *count > 0;
}

/// The next character that is no white space, not taken; kEndOfText at the end.
Result<int> EventStream::peek() {
    while (true) {
        while (m_at < m_end && isSpace(m_buffer[m_at])) ++m_at;
        if (m_at < m_end) return static_cast<int>(static_cast<unsigned char>(m_buffer[m_at]));
        auto more = refill();
        if (!more) return failure(more);
        if (!*more) return kEndOfText;
    }
}

Result<void> EventStream::open() {
    auto first = peek();
    if (!first) return failure(first);
    if (static_cast<char>(*first) == kByteOrderMark.front()) {
        for (const char c : kByteOrderMark) {
            // Not peek(): a piece of the file may end within the mark.
            if (m_at == m_end)
                if (auto more = refill(); !more) return failure(more);
            if (m_at < m_end && m_buffer[m_at] == c) ++m_at;
        }
        first = peek();
        if (!first) return failure(first);
    }
    if (*first == kEndOfText) return refuse("is empty");
    if (*first != '{' && *first != '[') return refuse("is not JSON");
    // One event a line, without an array around them.
    while (m_end < m_buffer.size() && m_end - m_at < kMostProbed) {
        auto more = refill();
        if (!more) return failure(more);
        if (!*more) break;
    }
    std::size_t scanned = 0;
    const bool lines = *first == '{' && isSoundEvent(m_at, scanned);
    if (!lines) ++m_at;
    m_bareArray = *first == '[' || lines;
    m_sawEvents = m_bareArray;
    m_place = m_bareArray ? Place::kEvents : Place::kTopLevel;
    return {};
}

void EventStream::endCutOff() {
    m_cutOff = true;
    m_place = Place::kEnd;
}

/// Whether an event begins at `at` that has all its brackets and a phase.
bool EventStream::isSoundEvent(std::size_t at, std::size_t& scanned) const {
    const std::size_t length = std::min(m_end - at, kMostProbed);
    WindowScan scan;
    scan.scanFirst({m_buffer.data() + at, length});
    scanned += scan.scanned();
    if (scan.cut() == 0) return false;
    std::vector<char> dense(scan.cut() + kPadding);
    std::size_t count = 0;
    if (simdjson::minify(m_buffer.data() + at, scan.cut(), dense.data(), count) !=
        simdjson::SUCCESS)
        return false;
    Event event;
    static_cast<void>(readEvent({dense.data(), count}, event));
    return !event.text.empty() && !event.phase.empty();
}

/// Behind a malformed event: to the next one that is sound. False: there is none.
bool EventStream::resume() {
    const std::string_view text(m_buffer.data(), m_end);
    std::size_t scanned = 0;
    for (std::size_t at = text.find('{', m_at + 1);
         at != std::string_view::npos && scanned < kMostScanned; at = text.find('{', at + 1)) {
        std::size_t before = at;
        while (before > m_at && isSpace(text[before - 1])) --before;
        if (before == m_at || text[before - 1] != ',' || !isSoundEvent(at, scanned)) continue;
        ++m_malformed;
        m_at = at;
        m_scan = {};
        return true;
    }
    return false;
}

/// No event ends in what is left of the source.
void EventStream::endWithin() {
    const auto endBefore = [&](std::size_t at) {
        while (at > m_at && isSpace(m_buffer[at - 1])) --at;
        return at;
    };
    const std::size_t end = endBefore(m_end);
    const std::size_t before = end > m_at ? endBefore(end - 1) : end;
    const std::string_view brackets = m_bareArray ? "}]" : "]}";
    // A document that is closed was not cut off: its last event is malformed.
    if (m_scan.inString() && before > m_at && m_buffer[before - 1] == brackets[0] &&
        m_buffer[end - 1] == brackets[1]) {
        ++m_malformed;
        m_place = Place::kEnd;
        m_at = m_end;
        return;
    }
    // Chrome's array form may lack its closing bracket.
    const std::string_view left(m_buffer.data() + m_at, end - m_at);
    const bool whole = m_bareArray && m_scan.cut() == 0 &&
                       left.find_first_not_of(", \n\r\t") == std::string_view::npos;
    endCutOff();
    m_cutOff = !whole;
    if (whole) m_at = m_end;
}

Result<void> EventStream::skipTrailing() {
    // What is left of one that was cut off is the event that it was cut in.
    while (!m_cutOff) {
        auto next = peek();
        if (!next) return failure(next);
        if (*next == kEndOfText) return {};
        m_trailing += m_end - m_at;
        m_at = m_end;
    }
    return {};
}

/// A string from its opening quote on, without quotes.
Result<std::string> EventStream::readString() {
    std::string text;
    bool escaped = false;
    for (++m_at;; ++m_at) {
        if (m_at == m_end) {
            auto more = refill();
            if (!more) return failure(more);
            if (!*more) return text;
        }
        const char c = m_buffer[m_at];
        if (!escaped && c == '"') break;
        escaped = !escaped && c == '\\';
        if (text.size() == kMostKeyBytes) return refuse("has a key of more than 4,096 bytes");
        text += c;
    }
    ++m_at;
    return text;
}

/// A value as it stands; empty when it is too long to be kept.
Result<std::string> EventStream::readValue(const std::string& key) {
    std::string text;
    int depth = 0;
    bool inString = false;
    bool escaped = false;
    bool kept = true;
    for (;; ++m_at) {
        if (m_at == m_end) {
            auto more = refill();
            if (!more) return failure(more);
            if (!*more) break;
        }
        const char c = m_buffer[m_at];
        if (inString) {
            inString = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            if (++depth > WindowScan::kMostDepth)
                return refuse("is nested deeper than 200 levels under " + key +
                              ": it is damaged, or no trace");
        } else if (c == '}' || c == ']' || c == ',') {
            if (depth == 0) break;
            if (c != ',') --depth;
        }
        if (text.size() < m_limits.mostMetadata)
            text += c;
        else
            kept = false;
    }
    if (kept) return text;
    m_notes.push_back("the metadata \"" + key + "\" was left out: it is longer than " +
                      std::to_string(m_limits.mostMetadata >> 10) + " KiB");
    return std::string();
}

Result<void> EventStream::readKey() {
    auto key = readString();
    if (!key) return failure(key);
    auto colon = peek();
    if (!colon) return failure(colon);
    if (*colon == kEndOfText) return endCutOff(), Result<void>{};
    if (*colon != ':') return refuse("is not JSON: no colon after the key \"" + *key + "\"");
    ++m_at;
    auto first = peek();
    if (!first) return failure(first);
    if (*key == "traceEvents" && *first == '[') {
        ++m_at;
        m_sawEvents = true;
        m_place = Place::kEvents;
        m_scan = {};
        return {};
    }
    auto value = readValue(*key);
    if (!value) return failure(value);
    if (m_metadata.size() < kMostKeys) m_metadata[*key] = std::move(*value);
    return {};
}

/// Up to the events, or the end.
Result<void> EventStream::readTopLevel() {
    while (m_place == Place::kTopLevel) {
        auto next = peek();
        if (!next) return failure(next);
        if (*next == '"') {
            if (auto key = readKey(); !key) return key;
        } else if (*next == ',') {
            ++m_at;
        } else if (*next == '}') {
            ++m_at;
            m_place = Place::kEnd;
        } else if (*next == kEndOfText) {
            endCutOff();
        } else if (*next == '{' && m_sawEvents) {
            // A bracket too many closed the events.
            ++m_malformed;
            m_place = Place::kEvents;
            m_scan = {};
        } else {
            return refuse("is not JSON: a key is missing at byte " +
                          std::to_string(m_dropped + m_at));
        }
    }
    return {};
}

std::span<char> EventStream::dense(std::size_t count) {
    if (m_dense.size() < count + kPadding) m_dense.resize(count + kPadding);
    std::size_t length = 0;
    const auto error = simdjson::minify(m_buffer.data() + m_at, count, m_dense.data(), length);
    // Only a string that does not end is an error, and a window ends outside strings.
    if (error != simdjson::SUCCESS) return {};
    return trimmed(std::span(m_dense).first(resolvePlain(std::span(m_dense).first(length))));
}

Result<std::optional<std::span<char>>> EventStream::nextWindow() {
    while (true) {
        m_scan.scan({m_buffer.data() + m_at, m_end - m_at});
        const bool mismatched = m_scan.tooDeep() || m_sourceEnded ||
                                (m_end == m_buffer.size() && m_buffer.size() >= m_limits.mostEvent);
        if (mismatched && m_scan.cut() == 0 && !m_scan.ended() && resume()) continue;
        if (m_scan.tooDeep())
            return refuse("is nested deeper than 200 levels after byte " +
                          std::to_string(m_dropped + m_at) + ": it is damaged, or no trace");
        const bool full = m_end - m_at >= m_limits.window || m_sourceEnded;
        if (m_scan.ended() || (full && m_scan.cut() > 0)) break;
        if (m_sourceEnded) {
            endWithin();
            return std::optional<std::span<char>>{};
        }
        if (auto more = refill(); !more) return failure(more);
    }
    const std::size_t count = m_scan.cut();
    const std::span<char> window = dense(count);
    m_at += count;
    if (m_scan.ended()) {
        ++m_at;
        m_place = m_bareArray ? Place::kEnd : Place::kTopLevel;
    } else {
        m_scan.drop(count);
    }
    return std::optional(window);
}

Result<std::optional<std::span<char>>> EventStream::next() {
    if (m_place == Place::kStart)
        if (auto opened = open(); !opened) return failure(opened);
    while (true) {
        if (m_place == Place::kTopLevel)
            if (auto read = readTopLevel(); !read) return failure(read);
        if (m_place == Place::kEnd) {
            if (!m_sawEvents) return noTrace();
            if (auto skipped = skipTrailing(); !skipped) return failure(skipped);
            return std::optional<std::span<char>>{};
        }
        auto window = nextWindow();
        if (!window) return failure(window);
        if (*window && !(*window)->empty()) return window;
    }
}

}  // namespace shardscope::interchange::kineto
