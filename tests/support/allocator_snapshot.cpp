#include "tests/support/allocator_snapshot.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

namespace shardscope::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kRounding = 512;
constexpr std::int64_t kFirstUs = 1'700'000'000'000'000;

/// Pickle, protocol 4, without memos.
class Pickle {
public:
    Pickle() : m_bytes("\x80\x04") {}
    void dict(const auto& members) { m_bytes += "}(", members(), m_bytes += "u"; }
    void list(const auto& items) { m_bytes += "](", items(), m_bytes += "e"; }
    void text(const std::string& value) {
        m_bytes += 'X', little(value.size(), 4), m_bytes += value;
    }
    void integer(std::int64_t value) {
        m_bytes += "\x8a\x08";
        little(static_cast<std::uint64_t>(value), 8);
    }
    void boolean(bool value) { m_bytes += value ? '\x88' : '\x89'; }
    void entry(const std::string& key, std::int64_t value) { text(key), integer(value); }
    void entry(const std::string& key, const std::string& value) { text(key), text(value); }
    [[nodiscard]] std::string take() { return std::move(m_bytes += '.'); }

private:
    void little(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) m_bytes += static_cast<char>(value >> (8 * i) & 0xff);
    }
    std::string m_bytes;
};

struct Block {
    std::int64_t size = 0, requested = 0;
    bool alive = false;
    std::int64_t segment = 0;  ///< address
    int frame = 0;
};
struct Entry {
    std::string action;
    std::int64_t address = 0, size = 0, us = 0;
    int frame = 0;
};

class Allocator {
public:
    explicit Allocator(const SnapshotOptions& options)
        : m_options(options), m_random(options.seed) {}

    void run() {
        for (int step = 0; step < m_options.steps; ++step) {
            ++m_us;
            const auto drawn = m_random() % 100;
            if (drawn < 2)
                emptyCache();
            else if (alive().empty() || (drawn < 62 && std::ssize(alive()) < m_options.mostAlive))
                allocate(drawSize());
            else
                release();
            m_states.push_back(state());
        }
    }
    [[nodiscard]] AllocatorSnapshot snapshot() {
        AllocatorSnapshot made;
        const auto lost =
            std::min<std::ptrdiff_t>(m_options.lostEntries, std::ssize(m_history) - 1);
        m_history.erase(m_history.begin(), m_history.begin() + lost);
        const std::int64_t first = m_history.front().us;
        for (AllocatorState& each : m_states) {
            each.timeNs = (each.timeNs - first) * 1000;
            // what happened at the time of the first entry may be lost in part
            if (each.timeNs > 0 || lost == 0) made.states.push_back(std::move(each));
        }
        made.pickle = write();
        return made;
    }

private:
    std::int64_t drawSize() {
        const std::int64_t most[] = {4096, 900'000, 3 * kMiB, 30 * kMiB};
        return 1 + static_cast<std::int64_t>(m_random() %
                                             static_cast<std::uint64_t>(most[m_random() % 4]));
    }
    [[nodiscard]] std::vector<std::int64_t> alive() const {
        std::vector<std::int64_t> addresses;
        for (const auto& [address, block] : m_blocks)
            if (block.alive) addresses.push_back(address);
        return addresses;
    }
    [[nodiscard]] bool isSmall(std::int64_t segment) const { return m_small.at(segment); }

    void allocate(std::int64_t requested) {
        const std::int64_t size = (requested + kRounding - 1) / kRounding * kRounding;
        const bool small = size <= kMiB;
        auto at = bestFit(size, small);
        if (at == m_blocks.end()) at = reserve(size, small);
        const std::int64_t rest = at->second.size - size;
        const bool splits = small || m_options.expandable ? rest >= kRounding : rest > kMiB;
        if (splits) {
            m_blocks[at->first + size] = {rest, 0, false, at->second.segment, 0};
            at->second.size = size;
        }
        at->second.alive = true;
        at->second.requested = requested;
        at->second.frame = static_cast<int>(m_random() % 6);
        m_history.push_back({"alloc", at->first, requested, m_us, at->second.frame});
    }
    std::map<std::int64_t, Block>::iterator bestFit(std::int64_t size, bool small) {
        auto best = m_blocks.end();
        for (auto at = m_blocks.begin(); at != m_blocks.end(); ++at)
            if (!at->second.alive && at->second.size >= size &&
                isSmall(at->second.segment) == small &&
                (best == m_blocks.end() || at->second.size < best->second.size))
                best = at;
        return best;
    }
    std::map<std::int64_t, Block>::iterator reserve(std::int64_t size, bool small) {
        if (m_options.expandable) return grow(size, small);
        const std::int64_t large =
            size < 10 * kMiB ? 20 * kMiB : (size + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
        const std::int64_t bytes = small ? 2 * kMiB : large;
        const std::int64_t address = m_next;
        // some lie side by side
        m_next += bytes + (m_random() % 3 == 0 ? 0 : 2 * kMiB);
        m_small[address] = small;
        m_history.push_back({"segment_alloc", address, bytes, m_us, 0});
        return m_blocks.insert_or_assign(address, Block{bytes, 0, false, address, 0}).first;
    }
    /// Maps what is missing behind the last block of the pool's segment.
    std::map<std::int64_t, Block>::iterator grow(std::int64_t size, bool small) {
        const std::int64_t base = (small ? std::int64_t{1} : std::int64_t{2}) << 45;
        const std::int64_t page = small ? 2 * kMiB : 20 * kMiB;
        m_small[base] = small;
        std::int64_t& end = m_ends.try_emplace(base, base).first->second;
        const auto last = lastOf(base);
        const bool joins =
            last != m_blocks.end() && !last->second.alive && last->first + last->second.size == end;
        const std::int64_t missing = size - (joins ? last->second.size : 0);
        const std::int64_t bytes = (missing + page - 1) / page * page;
        m_history.push_back({"segment_map", end, bytes, m_us, 0});
        end += bytes;
        if (!joins)
            return m_blocks.insert_or_assign(end - bytes, Block{bytes, 0, false, base, 0}).first;
        last->second.size += bytes;
        return last;
    }
    std::map<std::int64_t, Block>::iterator lastOf(std::int64_t base) {
        auto last = m_blocks.end();
        for (auto at = m_blocks.begin(); at != m_blocks.end(); ++at)
            if (at->second.segment == base) last = at;
        return last;
    }

    void release() {
        const auto addresses = alive();
        const std::int64_t address = addresses[m_random() % addresses.size()];
        auto at = m_blocks.find(address);
        m_history.push_back({"free_requested", address, at->second.requested, m_us, 0});
        m_history.push_back({"free_completed", address, at->second.requested, m_us, 0});
        at->second.alive = false;
        const auto joinable = [](const auto& a, const auto& b) {
            return !a->second.alive && !b->second.alive && a->second.segment == b->second.segment &&
                   a->first + a->second.size == b->first;
        };
        if (const auto after = std::next(at); after != m_blocks.end() && joinable(at, after)) {
            at->second.size += after->second.size;
            m_blocks.erase(after);
        }
        if (at == m_blocks.begin()) return;
        if (const auto before = std::prev(at); joinable(before, at)) {
            before->second.size += at->second.size;
            m_blocks.erase(at);
        }
    }
    void emptyCache() {
        for (auto at = m_blocks.begin(); at != m_blocks.end();) {
            const Block block = at->second;
            const std::int64_t address = at->first;
            if (block.alive) {
                ++at;
            } else if (m_options.expandable) {
                at = m_blocks.erase(at);
                unmap(address, block);
            } else if (std::none_of(m_blocks.begin(), m_blocks.end(), [&](const auto& each) {
                           return each.first != address && each.second.segment == block.segment;
                       })) {
                m_history.push_back({"segment_free", address, block.size, m_us, 0});
                m_small.erase(address);
                at = m_blocks.erase(at);
            } else {
                ++at;
            }
        }
    }
    /// Whole pages within a free block.
    void unmap(std::int64_t address, const Block& block) {
        const std::int64_t page = isSmall(block.segment) ? 2 * kMiB : 20 * kMiB;
        const std::int64_t from =
            (address - block.segment + page - 1) / page * page + block.segment;
        const std::int64_t to =
            (address + block.size - block.segment) / page * page + block.segment;
        const auto keep = [&](std::int64_t begin, std::int64_t end) {
            if (end > begin) m_blocks[begin] = {end - begin, 0, false, block.segment, 0};
        };
        if (to <= from) return keep(address, address + block.size);
        keep(address, from);
        keep(to, address + block.size);
        m_history.push_back({"segment_unmap", from, to - from, m_us, 0});
        if (to == m_ends[block.segment]) m_ends[block.segment] = from;
    }

    /// Contiguous blocks of a segment: what the snapshot calls one.
    [[nodiscard]] std::vector<std::vector<std::int64_t>> pieces() const {
        std::vector<std::vector<std::int64_t>> found;
        std::int64_t end = -1, segment = -1;
        for (const auto& [address, block] : m_blocks) {
            if (address != end || block.segment != segment) found.emplace_back();
            found.back().push_back(address);
            end = address + block.size;
            segment = block.segment;
        }
        return found;
    }
    [[nodiscard]] AllocatorState state() const {
        AllocatorState now;
        now.timeNs = m_us;
        now.segments = std::ssize(pieces());
        for (const auto& [address, block] : m_blocks) {
            now.reserved += block.size;
            if (!block.alive) now.free.push_back(block.size);
            if (!block.alive) continue;
            now.requested += block.requested;
            ++now.blocks;
        }
        std::sort(now.free.begin(), now.free.end());
        return now;
    }

    void frames(Pickle& out, int frame) {
        static const char* const kNames[] = {"forward",
                                             "attention",
                                             "backward",
                                             "activations: linear",
                                             "optimizer state: exp_avg",
                                             "parameter shards: wq"};
        out.text("frames");
        out.list([&] {
            out.dict([&] {
                out.entry("name", "at::empty_cuda");
                out.entry("filename", "??");
                out.entry("line", 0);
            });
            out.dict([&] {
                out.entry("name", kNames[frame]);
                out.entry("filename", "/home/x/model.py");
                out.entry("line", 100 + frame);
            });
        });
    }
    std::string write() {
        Pickle out;
        out.dict([&] {
            out.text("segments");
            out.list([&] {
                for (const auto& piece : pieces()) writeSegment(out, piece);
            });
            out.text("device_traces");
            out.list([&] {
                out.list([&] {
                    for (const Entry& each : m_history) writeEntry(out, each);
                });
            });
        });
        return out.take();
    }
    void writeEntry(Pickle& out, const Entry& each) {
        out.dict([&] {
            out.entry("action", each.action);
            out.entry("addr", each.address);
            out.entry("size", each.size);
            out.entry("stream", 0);
            out.entry("time_us", each.us);
            frames(out, each.frame);
        });
    }
    void writeSegment(Pickle& out, const std::vector<std::int64_t>& piece) {
        const Block& first = m_blocks.at(piece.front());
        const Block& last = m_blocks.at(piece.back());
        out.dict([&] {
            out.entry("device", 0);
            out.entry("address", piece.front());
            out.entry("total_size", piece.back() + last.size - piece.front());
            out.entry("stream", 0);
            out.entry("segment_type", isSmall(first.segment) ? "small" : "large");
            out.text("is_expandable"), out.boolean(m_options.expandable);
            out.text("blocks");
            out.list([&] {
                for (const std::int64_t address : piece) {
                    const Block& block = m_blocks.at(address);
                    out.dict([&] {
                        out.entry("address", address);
                        out.entry("size", block.size);
                        out.entry("requested_size", block.requested);
                        out.entry("state", block.alive ? "active_allocated" : "inactive");
                        frames(out, block.frame);
                    });
                }
            });
        });
    }

    SnapshotOptions m_options;
    std::mt19937_64 m_random;
    std::int64_t m_us = kFirstUs;
    std::int64_t m_next = std::int64_t{1} << 46;
    std::map<std::int64_t, Block> m_blocks;  ///< all of all segments, free ones too, by address
    std::map<std::int64_t, bool> m_small;    ///< segments by address: of the small pool
    std::map<std::int64_t, std::int64_t> m_ends;  ///< of segments that grow
    std::vector<Entry> m_history;
    std::vector<AllocatorState> m_states;
};

}  // namespace

AllocatorSnapshot drawSnapshot(const SnapshotOptions& options) {
    Allocator allocator(options);
    allocator.run();
    return allocator.snapshot();
}

}  // namespace shardscope::test
