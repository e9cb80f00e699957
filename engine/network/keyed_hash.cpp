#include "engine/network/keyed_hash.h"

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/pbkdf2.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace shardscope::network {
namespace {

constexpr unsigned kRounds = 100'000;
/// No message has this number.
constexpr std::uint64_t kVeil = ~std::uint64_t{0};

const std::uint8_t* bytesOf(std::string_view text) {
    return reinterpret_cast<const std::uint8_t*>(text.data());
}

/// Most significant byte first.
void update(hmac_sha256_ctx& context, std::uint64_t number) {
    std::array<std::uint8_t, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
    hmac_sha256_update(&context, bytes.size(), bytes.data());
}

bool isHex(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

Key keyFrom(std::string_view secret, std::string_view salt) {
    Key key;
    pbkdf2_hmac_sha256(secret.size(), bytesOf(secret), kRounds, salt.size(), bytesOf(salt),
                       key.size(), key.data());
    return key;
}

Mac macOf(const Key& key, std::initializer_list<std::string_view> parts) {
    hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, key.size(), key.data());
    for (const std::string_view part : parts) {
        update(context, part.size());
        hmac_sha256_update(&context, part.size(), bytesOf(part));
    }
    Mac mac;
    hmac_sha256_digest(&context, mac.size(), mac.data());
    return mac;
}

bool equalSecrets(std::string_view a, std::string_view b) {
    return a.size() == b.size() && nettle_memeql_sec(a.data(), b.data(), a.size()) == 1;
}

Key drawKey() {
    Key key;
    // Linux has had it since 3.17; without random numbers nothing here would protect a run.
    if (::getentropy(key.data(), key.size()) != 0) std::abort();
    return key;
}

std::string drawNonce() {
    return toHex(drawKey());
}

std::string toHex(std::span<const std::uint8_t> bytes) {
    std::string text(BASE16_ENCODE_LENGTH(bytes.size()), '\0');
    base16_encode_update(text.data(), bytes.size(), bytes.data());
    return text;
}

std::optional<Key> keyFromHex(std::string_view text) {
    Key key;
    if (text.size() != 2 * key.size() || !isHex(text)) return std::nullopt;
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (std::size_t i = 0; i < key.size(); ++i)
        key[i] = static_cast<std::uint8_t>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
    return key;
}

Mac Seal::macOf(std::uint64_t number, std::string_view message) const {
    hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, m_key.size(), m_key.data());
    update(context, number);
    hmac_sha256_update(&context, message.size(), bytesOf(message));
    Mac mac;
    hmac_sha256_digest(&context, mac.size(), mac.data());
    return mac;
}

Seal::Tag Seal::next(std::string_view message) {
    const Mac mac = macOf(m_number++, message);
    Tag tag;
    std::copy_n(mac.begin(), tag.size(), tag.begin());
    return tag;
}

Key Seal::veiled(const Key& key) const {
    Key veiled = macOf(kVeil, {});
    for (std::size_t i = 0; i < key.size(); ++i) veiled[i] ^= key[i];
    return veiled;
}

bool Seal::fits(std::string_view message, std::string_view tag) {
    const Tag expected = next(message);
    return equalSecrets({reinterpret_cast<const char*>(expected.data()), expected.size()}, tag);
}

}  // namespace shardscope::network
