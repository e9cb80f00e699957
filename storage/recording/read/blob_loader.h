// Reads blobs of a table on this thread and decodes them on several, by way of a cache.
// Part of the reader.
#pragma once

#include "storage/recording/file/worker_pool.h"
#include "storage/recording/read/generation.h"
#include "storage/sqlite/connection.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::storage {

// Keeps the values used last, up to a number of bytes. One thread.

template <class Value>
class BoundedCache {
public:
    explicit BoundedCache(std::size_t budget) : m_budget(budget) {}

    /// Valid until the next put() or clear().
    [[nodiscard]] const Value* find(std::int64_t id) {
        const auto at = m_index.find(id);
        if (at == m_index.end()) return nullptr;
        m_items.splice(m_items.begin(), m_items, at->second);
        return &m_items.front().value;
    }
    /// `id` must not be there yet.
    const Value& put(std::int64_t id, Value value, std::size_t size) {
        while (!m_items.empty() && m_used + size > m_budget) {
            m_used -= m_items.back().size;
            m_index.erase(m_items.back().id);
            m_items.pop_back();
        }
        m_items.push_front({id, size, std::move(value)});
        m_index[id] = m_items.begin();
        m_used += size;
        return m_items.front().value;
    }
    void clear() {
        m_items.clear();
        m_index.clear();
        m_used = 0;
    }

private:
    struct Item {
        std::int64_t id;
        std::size_t size;
        Value value;
    };
    std::size_t m_budget;
    std::size_t m_used = 0;
    std::list<Item> m_items;  ///< used last first
    std::unordered_map<std::int64_t, typename std::list<Item>::iterator> m_index;
};

[[nodiscard]] inline tl::unexpected<Error> superseded() {
    return failure(ErrorCode::kCancelled, "superseded by a newer request");
}

/// Loads blobs by their ids, decodes them on a pool and keeps them in a cache.
template <class Value, class Wanted, class Decode>
class BlobLoader {
public:
    using Loaded = std::unordered_map<std::int64_t, Value>;

    /// `select` gives the blob of an id; `decode(wanted, bytes)` gives a Value and the memory it
    /// takes, on any thread. All are borrowed.
    BlobLoader(Statement& select, WorkerPool& pool, const Generation& generation,
               const Decode& decode, BoundedCache<Value>& cache)
        : m_select(select),
          m_pool(pool),
          m_generation(generation),
          m_decode(decode),
          m_cache(cache),
          m_drain(pool) {}

    /// Adds what `wanted` names (by its member `id`) to `loaded`, each once. Ends with kCancelled
    /// as soon as the generation is superseded; what was decoded until then stays in the cache.
    Result<void> load(const std::vector<Wanted>& wanted, Loaded& loaded) {
        for (const Wanted& one : wanted) {
            if (m_error || m_generation.superseded()) break;
            if (!loaded.try_emplace(one.id).second) continue;
            if (const Value* cached = m_cache.find(one.id))
                loaded[one.id] = *cached;
            else
                start(one);
        }
        m_pool.wait();
        for (const auto& decoding : m_decodings) take(*decoding, loaded);
        if (m_generation.superseded()) return superseded();
        if (m_error) return tl::unexpected(*m_error);
        return {};
    }

private:
    struct Decoding {
        Wanted wanted;
        std::vector<std::byte> bytes;
        std::optional<Result<std::pair<Value, std::size_t>>> result;
    };

    /// Reads the blob here and has it decoded.
    void start(const Wanted& one) {
        auto row = m_select.bind(1, one.id).step();
        if (row && *row) {
            const auto bytes = m_select.blob(0);
            m_decodings.push_back(
                std::make_unique<Decoding>(Decoding{one, {bytes.begin(), bytes.end()}, {}}));
            m_pool.submit([this, &decoding = *m_decodings.back()] {
                if (m_generation.superseded()) return;
                decoding.result.emplace(m_decode(decoding.wanted, decoding.bytes));
                decoding.bytes = {};
            });
        } else {
            m_error = row ? Error{ErrorCode::kUnreadable,
                                  "an event chunk or pyramid segment is gone:"
                                  " the file was replaced, open it again"}
                          : row.error();
        }
        m_select.reset();
    }

    void take(Decoding& decoding, Loaded& loaded) {
        if (!decoding.result) return;
        if (!*decoding.result) {
            if (!m_error) m_error = decoding.result->error();
            return;
        }
        auto& [value, size] = **decoding.result;
        loaded[decoding.wanted.id] = value;
        m_cache.put(decoding.wanted.id, std::move(value), size);
    }

    Statement& m_select;
    WorkerPool& m_pool;
    const Generation& m_generation;
    const Decode& m_decode;
    BoundedCache<Value>& m_cache;
    std::vector<std::unique_ptr<Decoding>> m_decodings;
    std::optional<Error> m_error;
    const WorkerPool::Drain m_drain;  ///< goes before what the pool works on, whatever is thrown
};

/// The same in one call.
template <class Value, class Wanted, class Decode>
Result<void> loadBlobs(Statement& select, WorkerPool& pool, const std::vector<Wanted>& wanted,
                       const Generation& generation, const Decode& decode,
                       BoundedCache<Value>& cache,
                       std::unordered_map<std::int64_t, Value>& loaded) {
    return BlobLoader<Value, Wanted, Decode>(select, pool, generation, decode, cache)
        .load(wanted, loaded);
}

}  // namespace shardscope::storage
