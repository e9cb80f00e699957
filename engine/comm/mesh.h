// Messages between ranks that need not share a host: what a ring is built on.
//
// Messages of one pair and tag arrive in the order in which they were sent; a receive must name
// the size that was sent. Any thread may call any function.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/wait_watch.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace shardscope::comm {

/// Why a transfer came to nothing.
class TransferError : public std::runtime_error {
public:
    enum class Kind : std::uint8_t { kTimeout, kLost };
    TransferError(Kind kind, const std::string& what) : std::runtime_error(what), m_kind(kind) {}
    [[nodiscard]] Kind kind() const { return m_kind; }

private:
    const Kind m_kind;
};

/// A message on its way; its memory stays alive until wait() has returned.
class Transfer {
public:
    virtual ~Transfer() = default;
    /// Throws TransferError. After a timeout the mesh is of no more use.
    virtual void wait(std::chrono::milliseconds timeout) = 0;
};

class Mesh {
public:
    virtual ~Mesh() = default;
    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    virtual std::unique_ptr<Transfer> send(const void* from, std::size_t bytes, int to,
                                           std::uint32_t tag) = 0;
    virtual std::unique_ptr<Transfer> receive(void* to, std::size_t bytes, int from,
                                              std::uint32_t tag) = 0;
    /// Says to all ranks why this one gives up: for `late`, which did not come in time, or for
    /// whom that one waits in the end. Returns what the first of them said, which is `why` where
    /// the others cannot be asked any more. May take a few seconds.
    virtual std::string blame(const std::string& why, int late) {
        static_cast<void>(late);
        return why;
    }
    /// This rank waits for another by other means than messages. The mesh outlives what it returns.
    [[nodiscard]] virtual WaitWatch::Waiting waitsFor(int rank) {
        static_cast<void>(rank);
        return {};
    }
    /// Ends all transfers, here and at the peers.
    virtual void close() = 0;
};

}  // namespace shardscope::comm
