// Reads blobs of a table on this thread and decodes them on several, by way of a cache.
// Part of the reader.
#pragma once

#include "storage/recording/file/worker_pool.h"
#include "storage/recording/read/bounded_cache.h"
#include "storage/recording/read/generation.h"
#include "storage/sqlite/connection.h"

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace shardscope::storage {

[[nodiscard]] inline tl::unexpected<Error> superseded() {
    return failure(ErrorCode::kCancelled, "superseded by a newer request");
}

/// Loads what `wanted` names (by its member `id`) into `loaded`, each once. `select` gives the blob
/// of an id; `decode(wanted, bytes)` gives a Value and the memory it takes, on any thread. Ends
/// with kCancelled as soon as `generation` is superseded; what was decoded stays in `cache`.
template <class Value, class Wanted, class Decode>
Result<void> loadBlobs(Statement& select, WorkerPool& pool, const std::vector<Wanted>& wanted,
                       const Generation& generation, Decode decode, BoundedCache<Value>& cache,
                       std::unordered_map<std::int64_t, Value>& loaded) {
    struct Decoding {
        Wanted wanted;
        std::vector<std::byte> bytes;
        std::optional<Result<std::pair<Value, std::size_t>>> result;
    };
    std::vector<std::unique_ptr<Decoding>> decodings;
    std::optional<Error> error;
    const WorkerPool::Drain drain(pool);  // goes before `decodings`, whatever is thrown
    for (const Wanted& one : wanted) {
        if (error || generation.superseded()) break;
        if (!loaded.try_emplace(one.id).second) continue;
        if (const Value* cached = cache.find(one.id)) {
            loaded[one.id] = *cached;
            continue;
        }
        auto row = select.bind(1, one.id).step();
        if (row && *row) {
            const auto bytes = select.blob(0);
            decodings.push_back(
                std::make_unique<Decoding>(Decoding{one, {bytes.begin(), bytes.end()}, {}}));
            pool.submit([&decoding = *decodings.back(), &generation, &decode] {
                if (generation.superseded()) return;
                decoding.result.emplace(decode(decoding.wanted, decoding.bytes));
                decoding.bytes = {};
            });
        } else {
            error = row ? Error{ErrorCode::kUnreadable,
                                "an event chunk or pyramid segment is gone:"
                                " the file was replaced, open it again"}
                        : row.error();
        }
        select.reset();
    }
    pool.wait();
    for (const auto& decoding : decodings) {
        if (!decoding->result) continue;
        if (!*decoding->result) {
            if (!error) error = decoding->result->error();
            continue;
        }
        auto& [value, size] = **decoding->result;
        loaded[decoding->wanted.id] = value;
        cache.put(decoding->wanted.id, std::move(value), size);
    }
    if (generation.superseded()) return superseded();
    if (error) return tl::unexpected(*error);
    return {};
}

}  // namespace shardscope::storage
