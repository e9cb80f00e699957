// Files that a run can name, as small as they can be.
#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/tokens/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// A tokenizer.json of 256 bytes and `more` words.
inline void writeTokenizer(const std::string& path, std::uint32_t more) {
    tokens::Vocabulary vocabulary;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
    for (std::uint32_t i = 0; i < more; ++i) {
        vocabulary.tokens.push_back("<|" + std::to_string(i) + "|>");
        vocabulary.added.push_back({vocabulary.tokens.back(), 256 + i, true});
    }
    std::ofstream(path) << tokens::tokenizerJson(vocabulary);
}

/// A checkpoint of `config` after `steps`, in `folder`.
inline void writeCheckpoint(const std::string& folder, const run::RunConfig& config,
                            std::int32_t steps) {
    checkpoint::Manifest manifest;
    manifest.nextStep = steps;
    manifest.config = config;
    manifest.parameters["w"] = {4};
    const std::vector<float> values(4, 1.0F);
    auto partial = checkpoint::prepare(folder, steps);
    ASSERT_TRUE(partial);
    ASSERT_TRUE(checkpoint::writeRank(folder, steps, 0,
                                      {{checkpoint::StateKind::kParameter, "w", 0, values}}));
    ASSERT_TRUE(checkpoint::commit(std::move(*partial), manifest, 2));
}

}  // namespace shardscope::desktop
