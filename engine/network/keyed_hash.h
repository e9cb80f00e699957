// Message authentication by HMAC-SHA-256 (RFC 2104, FIPS 198-1), computed by nettle: what two sides
// prove a shared secret with, and number and check what they then say.
//
// Functions without state; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope::network {

using Key = std::array<std::uint8_t, 32>;
using Mac = std::array<std::uint8_t, 32>;

/// A key of what people type: PBKDF2-HMAC-SHA-256 (RFC 8018) with 100,000 rounds, some 20 ms where
/// the processor has SHA instructions, so that guessing a short secret from a recorded exchange is
/// slow. `salt` need not be secret: with another one the same secret makes another key.
[[nodiscard]] Key keyFrom(std::string_view secret, std::string_view salt);

/// Of all parts, each with its length before it, so that no two lists of parts are the same bytes.
[[nodiscard]] Mac macOf(const Key& key, std::initializer_list<std::string_view> parts);

/// In a time that depends on their lengths only.
[[nodiscard]] bool equalSecrets(std::string_view a, std::string_view b);

/// 256 bits from the kernel's generator.
[[nodiscard]] Key drawKey();
/// The same in hexadecimal: used once.
[[nodiscard]] std::string drawNonce();
inline constexpr std::size_t kNonceLetters = 64;

[[nodiscard]] std::string toHex(std::span<const std::uint8_t> bytes);
/// Nothing: it is not 64 lower-case hexadecimal digits.
[[nodiscard]] std::optional<Key> keyFromHex(std::string_view text);

/// Tags of one direction of a connection. Messages are numbered: a tag fits its message, in its
/// place, in this direction of this connection, and nothing else. Moved from one thread to another
/// as a whole.
class Seal {
public:
    static constexpr std::size_t kBytes =
        16;  ///< 128 of the 256 bits, as RFC 2104 section 5 allows
    using Tag = std::array<std::uint8_t, kBytes>;

    explicit Seal(const Key& key) : m_key(key) {}

    /// Of the next message.
    [[nodiscard]] Tag next(std::string_view message);
    /// Whether `tag` is the next message's; either way it has had its turn.
    [[nodiscard]] bool fits(std::string_view message, std::string_view tag);

    /// `key` as who reads the connection may see it, and, at the other end, back. Of one key only:
    /// two would give away in what they differ.
    [[nodiscard]] Key veiled(const Key& key) const;

private:
    [[nodiscard]] Mac macOf(std::uint64_t number, std::string_view message) const;

    Key m_key;
    std::uint64_t m_number = 0;
};

/// Both directions as one side has them.
struct SealPair {
    Seal out, in;
};

}  // namespace shardscope::network
