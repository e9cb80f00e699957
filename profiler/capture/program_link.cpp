#include "profiler/capture/program_link.h"

#include "storage/columns/byte_io.h"
#include "storage/columns/wire.h"
#include "storage/model/recording_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace shardscope::capture {
namespace {

struct Header {
    std::uint32_t bytes = 0;
    std::uint16_t message = 0;
    std::uint16_t version = kLinkVersion;
};
static_assert(sizeof(Header) == 8);

/// What is made of a payload takes no more memory than this times its size.
constexpr std::size_t kMostGrowth = 64;

template <class T>
std::vector<std::byte> payloadOf(const T& message) {
    if constexpr (std::is_same_v<T, EventChunk>) {
        return message.bytes;
    } else {
        columns::wire::Writer out;
        out.put(message);
        return out.take();
    }
}

template <class T>
std::optional<LinkMessage> readAs(std::span<const std::byte> payload) {
    T message{};
    if constexpr (std::is_same_v<T, EventChunk>) {
        message.bytes.assign(payload.begin(), payload.end());
    } else {
        columns::wire::Reader in(payload, payload.size() * kMostGrowth + 65'536);
        in.get(message);
        if (!in.isWhole()) return std::nullopt;
    }
    return message;
}

template <std::size_t... Index>
std::optional<LinkMessage> readMessage(std::size_t index, std::span<const std::byte> payload,
                                       std::index_sequence<Index...>) {
    std::optional<LinkMessage> message;
    static_cast<void>(
        ((index == Index &&
          (message = readAs<std::variant_alternative_t<Index, LinkMessage>>(payload), true)) ||
         ...));
    return message;
}

}  // namespace

std::string textOf(const ProcessCapture& capture) {
    return std::string(toWord(capture.wish.level)) + ';' + capture.wish.steps + ';' +
           std::to_string(capture.wish.every) + ';' + std::to_string(capture.originNs);
}

Result<ProcessCapture> parseProcessCapture(std::string_view text) {
    std::array<std::string_view, 4> parts;
    for (std::string_view& part : parts) {
        const std::size_t end = std::min(text.find(';'), text.size());
        part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    const auto level = fromWord<CaptureLevel>(parts[0]);
    ProcessCapture capture;
    const auto number = [](std::string_view from, auto& to) {
        return std::from_chars(from.data(), from.data() + from.size(), to).ec == std::errc{};
    };
    if (!level || !number(parts[2], capture.wish.every) || !number(parts[3], capture.originNs))
        return failure(ErrorCode::kUsage,
                       "the variable SHARDSCOPE_CAPTURE is not what a recorder sets");
    capture.wish.level = *level;
    capture.wish.steps = parts[1];
    return capture;
}

std::vector<std::byte> encodeLink(const LinkMessage& message) {
    const std::vector<std::byte> payload =
        std::visit([](const auto& each) { return payloadOf(each); }, message);
    Header header;
    header.bytes = static_cast<std::uint32_t>(payload.size());
    header.message = static_cast<std::uint16_t>(message.index());
    std::vector<std::byte> frame;
    frame.reserve(sizeof(header) + payload.size());
    columns::putNumber(frame, header);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

void LinkReader::append(std::span<const std::byte> bytes) {
    m_buffer.erase(m_buffer.begin(), m_buffer.begin() + static_cast<std::ptrdiff_t>(m_begin));
    m_begin = 0;
    m_buffer.insert(m_buffer.end(), bytes.begin(), bytes.end());
}

Result<std::optional<LinkMessage>> LinkReader::next() {
    const auto rest = std::span<const std::byte>(m_buffer).subspan(m_begin);
    if (rest.size() < sizeof(Header)) return std::nullopt;
    Header header;
    std::memcpy(&header, rest.data(), sizeof(header));
    if (header.version != kLinkVersion)
        return failure(ErrorCode::kUnreadable,
                       "its library is of another version of Shardscope than the recorder");
    if (header.bytes > kMostLinkPayload || header.message >= std::variant_size_v<LinkMessage>)
        return failure(ErrorCode::kUnreadable, "it sent bytes that are no message");
    if (rest.size() < sizeof(header) + header.bytes) return std::nullopt;
    auto message = readMessage(header.message, rest.subspan(sizeof(header), header.bytes),
                               std::make_index_sequence<std::variant_size_v<LinkMessage>>());
    if (!message) return failure(ErrorCode::kUnreadable, "it sent a damaged message");
    m_begin += sizeof(header) + header.bytes;
    return message;
}

}  // namespace shardscope::capture
