#include "engine/network/table_server.h"

#include <fmt/format.h>

#include <charconv>

namespace shardscope::network {
namespace {

constexpr std::string_view kVersion = "shardscope-ranks 1";
constexpr std::size_t kLongestLine = 256;
constexpr std::size_t kHeadBytes = 1 + 4 + 2;

std::string_view textOf(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytesOf(std::string_view text) {
    return std::as_bytes(std::span(text));
}

void put(std::string& text, std::uint32_t number, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>((number >> (8 * i)) & 0xFF);
}

std::uint32_t numberAt(std::span<const std::byte> bytes) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        number |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
    return number;
}

/// Of "VERSION RANK NONCE".
std::optional<int> rankOf(std::string_view hello) {
    const auto rest = after(hello, kVersion);
    if (!rest) return std::nullopt;
    int rank = -1;
    const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), rank);
    const std::string_view nonce = rest->substr(static_cast<std::size_t>(end - rest->data()));
    if (error != std::errc() || rank < 0 || nonce.size() != 1 + kNonceLetters) return std::nullopt;
    return rank;
}

}  // namespace

std::vector<std::byte> encode(const TableRequest& request) {
    std::string text(1, static_cast<char>(request.kind));
    put(text, request.patienceMs, 4);
    put(text, static_cast<std::uint32_t>(request.name.size()), 2);
    text += request.name + request.value;
    const auto bytes = bytesOf(text);
    return {bytes.begin(), bytes.end()};
}

std::optional<TableRequest> parseRequest(std::span<const std::byte> message) {
    if (message.size() < kHeadBytes) return std::nullopt;
    const std::size_t name = numberAt(message.subspan(5, 2));
    const auto kind = static_cast<TableRequest::Kind>(message[0]);
    const bool known = kind == TableRequest::Kind::kSet || kind == TableRequest::Kind::kGet ||
                       kind == TableRequest::Kind::kSetFirst;
    if (!known || message.size() < kHeadBytes + name) return std::nullopt;
    const std::string_view rest = textOf(message.subspan(kHeadBytes));
    return TableRequest{kind, numberAt(message.subspan(1, 4)), std::string(rest.substr(0, name)),
                        std::string(rest.substr(name))};
}

std::string rankHello(int rank) {
    return fmt::format("{} {} {}", kVersion, rank, drawNonce());
}

bool TableGuest::take(std::span<const std::byte> bytes, const Complaint& complaint) {
    while (!proven() && !bytes.empty()) {
        const std::string_view text = textOf(bytes);
        const std::size_t end = text.find('\n');
        const std::size_t taken = end == text.npos ? text.size() : end;
        if (m_line.size() + taken > kLongestLine) return false;
        m_line += text.substr(0, taken);
        if (end == text.npos) return true;
        bytes = bytes.subspan(taken + 1);
        if (!hear(std::exchange(m_line, {}), complaint)) return false;
    }
    m_records.append(bytes);
    return true;
}

bool TableGuest::hear(std::string_view line, const Complaint& complaint) {
    if (!m_challenged) {
        const auto rank = rankOf(line);
        if (!rank) return false;
        m_rank = *rank;
        m_challenged = true;
        m_output += m_handshake.challenge(line) + '\n';
        return true;
    }
    if (!m_handshake.proves(line)) {
        m_output += fmt::format("{}\n", AdmittingHandshake::kUnproved);
        return false;
    }
    if (const std::string why = complaint(m_rank); !why.empty()) {
        m_output += m_handshake.refusal(why) + '\n';
        return false;
    }
    m_output += m_handshake.welcome() + '\n';
    m_seals = m_handshake.seals();
    return true;
}

Result<std::optional<TableRequest>> TableGuest::next() {
    if (!proven()) return std::nullopt;
    const auto message = m_records.next(m_seals->in);
    if (!message) return failure(message);
    if (!message->has_value()) return std::nullopt;
    auto request = parseRequest(**message);
    if (!request) return failure(ErrorCode::kLaunch, "a rank asks for what is no request");
    return request;
}

/// A byte that says whether it is there, and the value.
void TableGuest::answer(const std::optional<std::string>& value) {
    std::string message(1, value ? '\1' : '\0');
    message += value.value_or("");
    m_output += textOf(sealedRecord(bytesOf(message), m_seals->out));
}

}  // namespace shardscope::network
