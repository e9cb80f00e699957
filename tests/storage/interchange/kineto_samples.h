// Traces as text, and what a recording holds of them.
#pragma once

#include "storage/interchange/import.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::test {

inline void writeFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// An import into a folder of its own.
class Imported {
public:
    Imported() { options.output = folder.file("out.sscope"); }

    Result<interchange::ImportAccount> import(const std::vector<std::string>& inputs) {
        auto account = interchange::importTraces(inputs, options);
        if (!account) return account;
        auto opened = storage::openRecording(options.output);
        EXPECT_THAT(opened, IsOk());
        reader = std::move(*opened);
        auto read = reader->summary();
        EXPECT_THAT(read, IsOk());
        summary = std::move(*read);
        return account;
    }
    Result<interchange::ImportAccount> importText(const std::string& json) {
        writeFile(folder.file("trace.json"), json);
        return import({folder.file("trace.json")});
    }

    [[nodiscard]] const LaneFacts* lane(const std::string& name) const {
        for (const LaneFacts& facts : summary.lanes)
            if (facts.name == name) return &facts;
        return nullptr;
    }
    /// Of all lanes of a name, by start.
    [[nodiscard]] std::vector<SpanEvent> spans(const std::string& laneName) {
        const LaneFacts* facts = lane(laneName);
        if (facts == nullptr) {
            std::string names;
            for (const LaneFacts& each : summary.lanes) names += "\n  " + each.name;
            ADD_FAILURE() << "no lane " << laneName << " among" << names;
            return {};
        }
        constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
        return *reader->spans(facts->rank, facts->lane, kEverything);
    }
    /// Flow events of all lanes, by time.
    [[nodiscard]] std::vector<FlowEvent> flows() {
        std::vector<FlowEvent> all;
        for (const LaneFacts& facts : summary.lanes) {
            const auto own = reader->flows(facts.rank, facts.lane,
                                           {{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}});
            if (own) all.insert(all.end(), own->begin(), own->end());
        }
        std::stable_sort(all.begin(), all.end(),
                         [](const FlowEvent& a, const FlowEvent& b) { return a.time < b.time; });
        return all;
    }
    [[nodiscard]] std::string nameOf(LaneId id) const {
        for (const LaneFacts& facts : summary.lanes)
            if (facts.lane == id) return facts.name;
        return "no lane";
    }
    [[nodiscard]] std::string text(StringId id, RankId rank = {0}) const {
        return std::string(reader->text(rank, id));
    }

    TemporaryFolder folder;
    interchange::ImportOptions options;
    std::unique_ptr<storage::RecordingReader> reader;
    RecordingSummary summary;
};

}  // namespace shardscope::test
