// How rows move between the ranks of several hosts: along rails, and from there inside each host.
//
// A rail joins the ranks at one place of all hosts (host_levels.h), so that every byte goes to a
// host once, and as many connections carry them as a host has ranks. Rows travel in pieces: while
// one is spread inside the host, or summed there, the next are on their way. After a meeting;
// communication thread.
//
// Sums are taken in fp32: each host's ranks in rank order, and these along the rail from the host
// after the one that keeps the sum. What is kept in bf16 or fp16 is rounded once, at the end.
#pragma once

#include "engine/comm/host_levels.h"
#include "engine/comm/host_memory.h"
#include "engine/run/theory/working_sizes.h"

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace shardscope::comm {

class Rails {
public:
    /// Both outlive it. `memory`, which may be null, hears of its buffers.
    Rails(HostLevels& levels, control::Observer* memory);
    ~Rails();
    Rails(const Rails&) = delete;
    Rails& operator=(const Rails&) = delete;

    /// Shared memory that a rank needs for gathering; 0 where nothing is to be shared.
    [[nodiscard]] static std::size_t stagingBytes(int hosts, int perHost);

    /// out[p * bytes] = what rank p brought, `bytes` of each.
    void gather(std::byte* out, std::size_t bytes);
    /// Every rank's part of the row that it brought goes to all ranks; `row` is this rank's.
    void gatherInPlace(std::byte* row, const Parts& bytes);
    /// The sum of this rank's part over the rows that all ranks brought, added to `out` if asked.
    void reduce(DataType dtype, const Parts& elements, float* out, bool add);
    /// The same in `dtype`. `out` may lie in this rank's row.
    void reduceRounded(DataType dtype, const Parts& elements, void* out);
    /// The root's row, `bytes` long, goes to all ranks; `row` is this rank's.
    void broadcast(std::byte* row, std::size_t bytes, int root);
    /// Part p of what each rank brought goes to rank p; out[p * bytes] is rank p's.
    void exchange(const std::byte* from, std::byte* out, std::size_t bytes);

private:
    static constexpr std::size_t kInFlight = theory::kPiecesInFlight;

    /// Of one part of a row.
    struct Piece {
        std::size_t begin = 0, size = 0;
    };
    /// A row cut into a part for each rank, and these into pieces of `most`.
    struct Cut {
        Parts parts;
        std::size_t most = 0;
        [[nodiscard]] std::size_t pieces() const { return (parts.largest() + most - 1) / most; }
        [[nodiscard]] Piece piece(std::size_t part, std::size_t number) const;
    };
    /// A row that is gathered, in bytes.
    struct Row {
        Cut cut;
        std::byte* to = nullptr;  ///< where all parts come to be
        /// Where the part of a rank of this host lies.
        std::function<const std::byte*(int place)> near;
        /// Where a piece from another host lands at a rank of this one.
        std::function<std::byte*(int place, int host, std::size_t number)> landing;
    };
    /// Rows that are summed, in elements.
    struct Sum {
        Cut cut;
        DataType dtype{};
        void* out = nullptr;
        bool rounded = false, add = false;
    };
    using Pending = Ring::Pending;

    [[nodiscard]] static std::size_t at(int index) { return static_cast<std::size_t>(index); }
    /// The host so many further along the rail.
    [[nodiscard]] int along(int steps) const;
    [[nodiscard]] std::size_t part(int host, int place) const;
    [[nodiscard]] std::size_t part(int host) const { return part(host, m_levels.place()); }

    void gather(const Row& row);
    void begin(const Row& row, std::size_t number);
    void carry(const Row& row, std::size_t number);
    void spread(const Row& row, std::size_t number) const;
    void copyNear(const Row& row) const;
    [[nodiscard]] Pending receive(const Row& row, int host, std::size_t number);
    [[nodiscard]] Pending send(const Row& row, int host, std::size_t number);

    void reduce(const Sum& sum);
    void begin(const Sum& sum, std::size_t number);
    void end(const Sum& sum, std::size_t number);
    [[nodiscard]] std::span<const void* const> rows(const Sum& sum, int host, Piece piece);
    void keep(const Sum& sum, Piece piece, float* others);
    /// For the step of a piece; the one three steps before has left it.
    [[nodiscard]] float* buffer(std::size_t number, int step) const;
    /// Of a piece.
    [[nodiscard]] int sumBuffers() const {
        return static_cast<int>(theory::railSumBuffers(m_levels.hosts()));
    }
    [[nodiscard]] Pending receive(const Sum& sum, int step, std::size_t number);

    void sendRoot(const std::byte* row, const Cut& cut);
    void passOn(std::byte* row, const Cut& cut, bool last);

    void tellStaging(MemoryAction action);
    void await(Pending& received);
    void finish(std::vector<Pending>& sent);

    HostLevels& m_levels;
    Ring& m_rail;
    control::Observer* const m_memory;
    bool m_stages = false;      ///< staging memory is in use
    const std::size_t m_piece;  ///< bytes
    std::array<Pending, kInFlight> m_coming;
    std::array<std::vector<Pending>, kInFlight> m_going;
    StagingBuffer m_sums;
    std::byte* m_sumsBegin = nullptr;
    std::size_t m_sumBytes = 0;  ///< of each buffer
    std::vector<const void*> m_sources;
};

}  // namespace shardscope::comm
