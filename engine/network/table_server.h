// Rank 0's side of a keyed table, and what both sides say.
#pragma once

#include "engine/network/keyed_handshake.h"
#include "engine/network/network_interface.h"
#include "engine/network/sealed_records.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::network {

struct TableRequest {
    enum class Kind : std::uint8_t { kSet = 1, kGet = 2, kSetFirst = 3 };
    Kind kind = Kind::kGet;
    std::uint32_t patienceMs = 0;  ///< of kGet
    std::string name, value;
    friend bool operator==(const TableRequest&, const TableRequest&) = default;
};
[[nodiscard]] std::vector<std::byte> encode(const TableRequest& request);
/// Nothing: it is none.
[[nodiscard]] std::optional<TableRequest> parseRequest(std::span<const std::byte> message);

/// The hello of a rank; a nonce is drawn for it.
[[nodiscard]] std::string rankHello(int rank);

/// A connection as rank 0 has it: bytes in, bytes out. One thread.
class TableGuest {
public:
    /// Gloo's addresses of some thousand ranks.
    static constexpr std::size_t kLongestMessage = std::size_t{4} << 20;

    explicit TableGuest(const Key& key) : m_handshake(key) {}
    /// Rank 0's own.
    explicit TableGuest(const SealPair& seals) : m_handshake(Key{}), m_rank(0), m_seals(seals) {}

    /// Why a rank that has proved the key does not fit; empty: it does.
    using Complaint = std::function<std::string(int rank)>;
    /// False: the connection ends, once output() is sent.
    [[nodiscard]] bool take(std::span<const std::byte> bytes, const Complaint& complaint);
    [[nodiscard]] bool proven() const { return m_seals.has_value(); }
    [[nodiscard]] int rank() const { return m_rank; }
    /// What it asks for, once proven. An error ends the connection.
    Result<std::optional<TableRequest>> next();
    void answer(const std::optional<std::string>& value);
    /// To be sent; what is taken off is sent.
    [[nodiscard]] std::string& output() { return m_output; }
    [[nodiscard]] const std::string& output() const { return m_output; }

private:
    [[nodiscard]] bool hear(std::string_view line, const Complaint& complaint);

    AdmittingHandshake m_handshake;
    int m_rank = -1;
    bool m_challenged = false;
    std::string m_line, m_output;
    std::optional<SealPair> m_seals;
    SealedRecords m_records{kLongestMessage};
};

/// Keeps the texts. Its thread calls run(), and nothing else is called meanwhile.
class TableServer {
public:
    /// `own` is rank 0's own connection.
    TableServer(Listener listener, const Key& key, int ranks, FileDescriptor own,
                const SealPair& seals);

    /// Until rank 0 closes the other end of its own.
    void run();

private:
    using Clock = std::chrono::steady_clock;
    struct Guest {
        FileDescriptor socket;
        TableGuest talk;
        std::optional<TableRequest> waits{};  ///< for a text that is not there yet
        Clock::time_point until{};
    };

    void poll() const;
    void acceptAll();
    void makeRoom();
    void serve(Guest& guest);
    [[nodiscard]] bool read(Guest& guest) const;
    [[nodiscard]] static bool write(Guest& guest);
    [[nodiscard]] std::string complaintOf(int rank) const;
    void handle(Guest& guest, TableRequest request);
    static void answer(Guest& guest, const std::optional<std::string>& value);
    void closeDoor();

    FileDescriptor m_listener;
    const Key m_key;
    const int m_ranks;
    std::vector<Guest> m_guests;  ///< rank 0 first
    std::map<std::string, std::string> m_texts;
};

/// At most a minute.
[[nodiscard]] int millisecondsUntil(std::chrono::steady_clock::time_point deadline);
/// Small messages of a TCP connection are not held back.
void sendAtOnce(int fd);

}  // namespace shardscope::network
