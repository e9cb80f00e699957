#include "engine/comm/proved_mesh.h"

#include <fmt/format.h>
#include <nettle/aes.h>
#include <nettle/gcm.h>
#include <nettle/memops.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace shardscope::comm {
namespace {

constexpr std::size_t kTagBytes = GCM_DIGEST_SIZE;

/// AES-256 in Galois/counter mode (NIST SP 800-38D); any thread.
class Cipher {
public:
    using Nonce = std::array<std::uint8_t, GCM_IV_SIZE>;

    explicit Cipher(const network::Key& key) {
        aes256_set_encrypt_key(&m_aes, key.data());
        gcm_set_key(&m_hash, &m_aes, &encryptBlocks);
    }

    /// `to` has room for kTagBytes more.
    void encrypt(const Nonce& nonce, const std::byte* from, std::size_t bytes,
                 std::byte* to) const {
        gcm_ctx message;
        gcm_set_iv(&message, &m_hash, nonce.size(), nonce.data());
        gcm_encrypt(&message, &m_hash, &m_aes, &encryptBlocks, bytes, at(to), at(from));
        gcm_digest(&message, &m_hash, &m_aes, &encryptBlocks, kTagBytes, at(to) + bytes);
    }
    /// False: it is not what was encrypted with this nonce; `to` holds nothing of it then.
    [[nodiscard]] bool decrypt(const Nonce& nonce, const std::byte* from, std::size_t bytes,
                               std::byte* to) const {
        gcm_ctx message;
        std::array<std::uint8_t, kTagBytes> tag;
        gcm_set_iv(&message, &m_hash, nonce.size(), nonce.data());
        gcm_decrypt(&message, &m_hash, &m_aes, &encryptBlocks, bytes, at(to), at(from));
        gcm_digest(&message, &m_hash, &m_aes, &encryptBlocks, tag.size(), tag.data());
        if (memeql_sec(tag.data(), from + bytes, tag.size()) == 1) return true;
        std::fill_n(to, bytes, std::byte{0});
        return false;
    }

private:
    static std::uint8_t* at(std::byte* bytes) { return reinterpret_cast<std::uint8_t*>(bytes); }
    static const std::uint8_t* at(const std::byte* bytes) {
        return reinterpret_cast<const std::uint8_t*>(bytes);
    }
    static void encryptBlocks(const void* aes, std::size_t bytes, std::uint8_t* to,
                              const std::uint8_t* from) {
        aes256_encrypt(static_cast<const aes256_ctx*>(aes), bytes, to, from);
    }

    aes256_ctx m_aes;
    gcm_key m_hash;
};

/// One direction of a connection. Its key is this run's and the direction's, and messages of each
/// tag are numbered, so no nonce comes twice, and no message fits another place than its own.
class Direction {
public:
    explicit Direction(const network::Key& key) : m_cipher(key) {}

    [[nodiscard]] const Cipher& cipher() const { return m_cipher; }
    /// Of the next message of this tag. What is begun with it is begun under lock().
    Cipher::Nonce next(std::uint32_t tag) {
        const std::uint64_t number = m_numbers[tag]++;
        Cipher::Nonce nonce;
        for (std::size_t i = 0; i < 4; ++i) nonce[i] = static_cast<std::uint8_t>(tag >> (8 * i));
        for (std::size_t i = 0; i < 8; ++i)
            nonce[4 + i] = static_cast<std::uint8_t>(number >> (8 * i));
        return nonce;
    }
    [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(m_mutex); }

private:
    const Cipher m_cipher;
    std::mutex m_mutex;
    std::map<std::uint32_t, std::uint64_t> m_numbers;  // guarded by m_mutex
};

using Bytes = std::unique_ptr<std::byte[]>;

Bytes roomFor(std::size_t bytes) {
    return std::make_unique_for_overwrite<std::byte[]>(bytes + kTagBytes);
}

/// Holds what is on its way.
class Sent final : public Transfer {
public:
    Sent(Bytes bytes, std::unique_ptr<Transfer> inner)
        : m_bytes(std::move(bytes)), m_inner(std::move(inner)) {}
    void wait(std::chrono::milliseconds timeout) override { m_inner->wait(timeout); }

private:
    const Bytes m_bytes;
    const std::unique_ptr<Transfer> m_inner;
};

/// Where a message is to be decrypted, and how.
struct Expected {
    const Cipher& cipher;
    Cipher::Nonce nonce;
    std::byte* to;
    std::size_t bytes;
    int from;
};

class Received final : public Transfer {
public:
    Received(const Expected& expected, Bytes bytes, std::unique_ptr<Transfer> inner)
        : m_expected(expected), m_bytes(std::move(bytes)), m_inner(std::move(inner)) {}

    void wait(std::chrono::milliseconds timeout) override {
        m_inner->wait(timeout);
        const auto& [cipher, nonce, to, bytes, from] = m_expected;
        if (cipher.decrypt(nonce, m_bytes.get(), bytes, to)) return;
        throw TransferError(TransferError::Kind::kAltered,
                            fmt::format("what came from rank {} is not what it sent", from));
    }

private:
    const Expected m_expected;
    const Bytes m_bytes;
    const std::unique_ptr<Transfer> m_inner;
};

class EncryptedMesh final : public Mesh {
public:
    EncryptedMesh(std::shared_ptr<Mesh> mesh, const std::vector<PairKeys>& keys)
        : m_mesh(std::move(mesh)) {
        for (const PairKeys& each : keys) {
            m_out.push_back(std::make_unique<Direction>(each.out));
            m_in.push_back(std::make_unique<Direction>(each.in));
        }
    }

    int rank() const override { return m_mesh->rank(); }
    int size() const override { return m_mesh->size(); }

    std::unique_ptr<Transfer> send(const void* from, std::size_t bytes, int to,
                                   std::uint32_t tag) override {
        Bytes encrypted = roomFor(bytes);
        Direction& out = *m_out[static_cast<std::size_t>(to)];
        const auto lock = out.lock();
        out.cipher().encrypt(out.next(tag), static_cast<const std::byte*>(from), bytes,
                             encrypted.get());
        auto sent = m_mesh->send(encrypted.get(), bytes + kTagBytes, to, tag);
        return std::make_unique<Sent>(std::move(encrypted), std::move(sent));
    }

    std::unique_ptr<Transfer> receive(void* to, std::size_t bytes, int from,
                                      std::uint32_t tag) override {
        Bytes encrypted = roomFor(bytes);
        Direction& in = *m_in[static_cast<std::size_t>(from)];
        const auto lock = in.lock();
        const Expected expected{in.cipher(), in.next(tag), static_cast<std::byte*>(to), bytes,
                                from};
        auto received = m_mesh->receive(encrypted.get(), bytes + kTagBytes, from, tag);
        return std::make_unique<Received>(expected, std::move(encrypted), std::move(received));
    }

    std::string blame(const std::string& why, int late) override {
        return m_mesh->blame(why, late);
    }
    WaitWatch::Waiting waitsFor(int rank) override { return m_mesh->waitsFor(rank); }
    void close() override { m_mesh->close(); }

private:
    const std::shared_ptr<Mesh> m_mesh;
    std::vector<std::unique_ptr<Direction>> m_out, m_in;  ///< by rank
};

}  // namespace

std::shared_ptr<Mesh> encrypted(std::shared_ptr<Mesh> mesh, const std::vector<PairKeys>& keys) {
    return std::make_shared<EncryptedMesh>(std::move(mesh), keys);
}

}  // namespace shardscope::comm
