// Writes events of a Chrome trace as text, one a line, with the blanks HTA looks for.
#pragma once

#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/kineto/out/trace_events.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange::kineto_out {

// The file that a trace's text goes to: plain, or gzip.

/// Has its name only once it is whole. One thread.
class TextOutput {
public:
    /// gzip unless `path` ends in ".json".
    static Result<TextOutput> open(const storage::OutputRequest& request);
    TextOutput(TextOutput&&) noexcept;
    TextOutput& operator=(TextOutput&&) noexcept;
    ~TextOutput();

    void write(std::string_view text);
    Result<void> finish();

private:
    struct Deflater;
    TextOutput(ExportWriter writer, std::unique_ptr<Deflater> deflater);
    ExportWriter m_writer;
    std::unique_ptr<Deflater> m_deflater;  ///< null: plain
};

class EventWriter : public TraceEventSink {
public:
    /// `wholeMicroseconds`: starts and ends are floored, so that what did not overlap does not.
    EventWriter(TextOutput& output, bool wholeMicroseconds)
        : m_output(&output), m_whole(wholeMicroseconds) {}

    /// All top-level members but the events, as JSON members.
    void begin(std::string_view metadata);
    void add(const TraceEvent& event) override;
    void addText(std::string_view object) override;
    void end();

    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    void separate();
    void appendTime(std::int64_t nanoseconds);
    void appendTimes(const TraceEvent& event);
    void flushWhenLarge();

    TextOutput* m_output;
    bool m_whole;
    std::uint64_t m_events = 0;
    std::string m_text;
};

// Which correlations one end of the arrows from calls to kernels has.

/// A set in 8 bytes each. Beyond kMost (128 MB) arrows are drawn without asking for the other end.
class Correlations {
public:
    static constexpr std::size_t kMost = std::size_t{16} << 20;

    void add(std::uint64_t value) {
        if (m_values.size() < kMost)
            m_values.push_back(value);
        else
            m_full = true;
    }
    /// Before has() and after the last add().
    void finish() {
        std::sort(m_values.begin(), m_values.end());
        m_values.erase(std::unique(m_values.begin(), m_values.end()), m_values.end());
    }
    [[nodiscard]] bool has(std::uint64_t value) const {
        return m_full || std::binary_search(m_values.begin(), m_values.end(), value);
    }

private:
    std::vector<std::uint64_t> m_values;
    bool m_full = false;
};

}  // namespace shardscope::interchange::kineto_out
