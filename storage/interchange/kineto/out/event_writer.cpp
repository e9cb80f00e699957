#include "storage/interchange/kineto/out/event_writer.h"

#include "storage/interchange/decimal.h"
#include "storage/interchange/event_text.h"
#include "storage/interchange/json_text.h"

#include <zlib.h>

#include <vector>

namespace shardscope::interchange::kineto_out {
namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;

bool isFlow(char phase) {
    return phase == 's' || phase == 't' || phase == 'f';
}

/// Of 7.84 MB of text (the A100 trace) level 1 makes 0.85 MB at 338 MB/s, level 4 0.74 MB at 213,
/// level 6 0.67 MB at 136: the text itself is made at about 260 MB/s.
constexpr int kLevel = 1;
constexpr int kGzip = 15 + 16;
constexpr int kMemory = 8;

}  // namespace

void EventWriter::begin(std::string_view metadata) {
    m_text.append("{\n").append(metadata).append("  \"traceEvents\": [");
}

void EventWriter::separate() {
    m_text += m_events++ == 0 ? "\n  " : ",\n  ";
}

void EventWriter::appendTime(std::int64_t nanoseconds) {
    if (m_whole)
        appendInteger(m_text, wholeMicroseconds(nanoseconds));
    else
        appendMicroseconds(m_text, nanoseconds);
}

void EventWriter::appendTimes(const TraceEvent& event) {
    m_text += ", \"ts\": ";
    appendTime(event.startNs);
    if (event.phase != 'X') return;
    m_text += ", \"dur\": ";
    if (m_whole)
        appendInteger(m_text, wholeMicroseconds(event.startNs + event.durationNs) -
                                  wholeMicroseconds(event.startNs));
    else
        appendMicroseconds(m_text, event.durationNs);
}

void EventWriter::add(const TraceEvent& event) {
    separate();
    m_text.append("{\"ph\": \"").append(1, event.phase).append("\"");
    const bool async = event.phase == 'b' || event.phase == 'e';
    if (isFlow(event.phase) || async || (event.phase == 'C' && !event.flowText.empty())) {
        m_text += ", \"id\": ";
        if (event.flowText.empty())
            appendInteger(m_text, event.flow);
        else
            appendString(m_text, event.flowText);
    }
    if (!event.category.empty() || event.phase == 'X') {
        m_text += ", \"cat\": ";
        appendString(m_text, event.category);
    }
    m_text += ", \"name\": ";
    appendString(m_text, event.name);
    m_text.append(", \"pid\": ").append(event.row->pid);
    m_text.append(", \"tid\": ").append(event.row->tid);
    if (event.phase != 'M') appendTimes(event);
    if (event.phase == 'f' && !event.bindsNext) m_text += ", \"bp\": \"e\"";
    if (event.phase == 'i') m_text.append(", \"s\": \"").append(1, event.scope).append("\"");
    if (!isFlow(event.phase) || !event.arguments.empty()) {
        m_text.append(", \"args\": {").append(event.arguments);
        if (event.correlation != 0) {
            m_text += event.arguments.empty() ? "\"correlation\":" : ",\"correlation\":";
            appendInteger(m_text, event.correlation);
        }
        m_text += "}";
    }
    m_text += "}";
    flushWhenLarge();
}

/// As it stands; only its time is made whole where all are.
void EventWriter::addText(std::string_view object) {
    separate();
    std::vector<Member> members;
    TextFlags flags;
    const auto time = [&]() -> std::string_view {
        const char* end = object.data() + object.size();
        if (!m_whole || readMembers(object.data(), end, members, flags) != end) return {};
        return valueOf(members, "ts");
    }();
    const auto parsed = parseMicroseconds(isString(time) ? time.substr(1, time.size() - 2) : time);
    if (parsed) {
        const auto at = static_cast<std::size_t>(time.data() - object.data());
        m_text.append(object.substr(0, at));
        appendTime(parsed->value);
        m_text.append(object.substr(at + time.size()));
    } else {
        m_text.append(object);
    }
    flushWhenLarge();
}

void EventWriter::flushWhenLarge() {
    if (m_text.size() < kBlock) return;
    m_output->write(m_text);
    m_text.clear();
}

void EventWriter::end() {
    m_text += "\n  ]\n}\n";
    m_output->write(m_text);
    m_text.clear();
}

struct TextOutput::Deflater {
    z_stream stream{};
    std::vector<Bytef> block = std::vector<Bytef>(kBlock);
    bool sound = false;

    Deflater() {
        sound =
            deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    Deflater(const Deflater&) = delete;
    Deflater& operator=(const Deflater&) = delete;
    ~Deflater() {
        if (sound) deflateEnd(&stream);
    }
    void put(std::string_view text, int flush, ExportWriter& writer) {
        // zlib takes what it only reads as writable.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        stream.avail_in = static_cast<uInt>(text.size());
        do {
            stream.next_out = block.data();
            stream.avail_out = static_cast<uInt>(block.size());
            deflate(&stream, flush);
            writer.write(
                {reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out});
        } while (stream.avail_out == 0);
    }
};

TextOutput::TextOutput(ExportWriter writer, std::unique_ptr<Deflater> deflater)
    : m_writer(std::move(writer)), m_deflater(std::move(deflater)) {}
TextOutput::TextOutput(TextOutput&&) noexcept = default;
TextOutput& TextOutput::operator=(TextOutput&&) noexcept = default;
TextOutput::~TextOutput() = default;

Result<TextOutput> TextOutput::open(const storage::OutputRequest& request) {
    const std::string& path = request.path;
    auto writer = ExportWriter::open(request);
    if (!writer) return failure(writer);
    std::unique_ptr<Deflater> deflater;
    if (!path.ends_with(".json")) {
        deflater = std::make_unique<Deflater>();
        if (!deflater->sound)
            return failure(ErrorCode::kFailure,
                           "cannot compress " + path + ": not enough memory; write a plain .json");
    }
    return TextOutput(std::move(*writer), std::move(deflater));
}

void TextOutput::write(std::string_view text) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (; m_deflater != nullptr && !text.empty(); text.remove_prefix(std::min(kMost, text.size())))
        m_deflater->put(text.substr(0, kMost), Z_NO_FLUSH, m_writer);
    if (m_deflater == nullptr) m_writer.write(text);
}

Result<void> TextOutput::finish() {
    if (m_deflater != nullptr) m_deflater->put({}, Z_FINISH, m_writer);
    return m_writer.finish();
}

}  // namespace shardscope::interchange::kineto_out
