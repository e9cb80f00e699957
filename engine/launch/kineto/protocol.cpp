#include "engine/launch/kineto/protocol.h"

#include <array>
#include <cstring>

namespace shardscope::launch::kineto {
namespace {

constexpr std::size_t kTypeBytes = 32;
constexpr std::size_t kHeaderBytes = sizeof(std::uint64_t) + kTypeBytes;
constexpr std::string_view kRequestType = "req", kRegistrationType = "ctxt";
/// Bit of a request's type: traces can be taken now.
constexpr std::int32_t kActivities = 2;

/// Reads numbers from the front; once it has read beyond the end it has only zeros.
class Reader {
public:
    explicit Reader(std::string_view bytes) : m_rest(bytes) {}

    template <class Number>
    Number take() {
        Number number{};
        m_sound = m_sound && m_rest.size() >= sizeof number;
        if (!m_sound) return number;
        std::memcpy(&number, m_rest.data(), sizeof number);
        m_rest.remove_prefix(sizeof number);
        return number;
    }
    [[nodiscard]] bool sound() const { return m_sound; }
    [[nodiscard]] std::size_t left() const { return m_rest.size(); }

private:
    std::string_view m_rest;
    bool m_sound = true;
};

std::string message(std::string_view type, std::string_view content) {
    const std::uint64_t size = content.size();
    std::string bytes(kHeaderBytes, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    std::memcpy(bytes.data() + sizeof size, type.data(), type.size());
    return bytes.append(content);
}

std::optional<Request> requestOf(std::string_view content) {
    Reader reader(content);
    Request request;
    request.idle = (reader.take<std::int32_t>() & kActivities) != 0;
    const auto count = reader.take<std::int32_t>();
    request.job = reader.take<std::int64_t>();
    if (!reader.sound() || count <= 0 || static_cast<std::size_t>(count) > kMostPids ||
        reader.left() != static_cast<std::size_t>(count) * sizeof(std::int32_t))
        return std::nullopt;
    for (std::int32_t i = 0; i < count; ++i) request.pids.push_back(reader.take<std::int32_t>());
    if (request.pids.front() <= 0) return std::nullopt;
    return request;
}

std::optional<Registration> registrationOf(std::string_view content) {
    Reader reader(content);
    Registration registration;
    registration.gpu = reader.take<std::int32_t>();
    registration.pid = reader.take<std::int32_t>();
    reader.take<std::int64_t>();
    if (!reader.sound() || reader.left() != 0 || registration.pid <= 0) return std::nullopt;
    return registration;
}

}  // namespace

Result<Message> decode(std::string_view datagram) {
    Message decoded;
    if (datagram.size() >= kHeaderBytes) {
        const auto size = Reader(datagram).take<std::uint64_t>();
        std::string_view type = datagram.substr(sizeof size, kTypeBytes);
        type = type.substr(0, type.find('\0'));
        const std::string_view content = datagram.substr(kHeaderBytes);
        if (size == content.size() && type == kRequestType) decoded.request = requestOf(content);
        if (size == content.size() && type == kRegistrationType)
            decoded.registration = registrationOf(content);
    }
    if (decoded.request || decoded.registration) return decoded;
    return failure(ErrorCode::kUnreadable, "a datagram is no request of PyTorch's profiler");
}

std::string requestAnswer(std::string_view configuration) {
    return message(kRequestType, configuration);
}

std::string registrationAnswer(std::int32_t count) {
    std::array<char, sizeof count> bytes{};
    std::memcpy(bytes.data(), &count, sizeof count);
    return message(kRegistrationType, {bytes.data(), bytes.size()});
}

}  // namespace shardscope::launch::kineto
