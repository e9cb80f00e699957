// A recording that is read for a request: once a newer one has superseded it, every question ends
// with kCancelled. Whatever reads through it, analyses of many ranks among them, ends soon after.
//
// On the thread of the reader behind it, which must live as long.
#pragma once

#include "storage/recording/read/recording_reader.h"

#include <utility>

namespace shardscope::storage {

class CancellableReader : public RecordingReader {
public:
    CancellableReader(RecordingReader& reader, Generation generation)
        : m_reader(reader), m_generation(std::move(generation)) {}

    std::string_view text(RankId rank, StringId id) override { return m_reader.text(rank, id); }
    Result<void> answer(const AnyRequest& request) override {
        if (m_generation.superseded())
            return failure(ErrorCode::kCancelled, "superseded by a newer request");
        return m_reader.answer(request);
    }

private:
    RecordingReader& m_reader;
    Generation m_generation;
};

}  // namespace shardscope::storage
