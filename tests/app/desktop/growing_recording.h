// A recording that is written while a window has it open.
#pragma once

#include "storage/columns/chunk.h"
#include "storage/model/lanes.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/write/recording_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// Of one rank; begins with a step. Being written until it is finished or goes away.
class GrowingRecording {
public:
    explicit GrowingRecording(const std::string& path) {
        RunFacts run;
        run.id = "run";
        run.worldSize = 1;
        run.model = "tiny";
        auto writer = storage::RecordingWriter::create(path, run, false);
        if (!writer) {
            ADD_FAILURE() << writer.error().message;
            return;
        }
        m_writer.emplace(std::move(*writer));
        EXPECT_TRUE(
            m_writer->addLane({{0}, lanes::kOperators.id, LaneRole::kHost, "operators", "", 0}));
        write();
    }
    /// A thousand more spans, which are a step.
    void write() {
        if (!m_writer) return;
        StepFacts step;
        step.step = {m_steps++};
        step.start = {m_time};
        std::vector<SpanEvent> spans(1'000);
        for (SpanEvent& span : spans) {
            span.start = {m_time += 1'000};
            span.duration = {500};
            span.lane = lanes::kOperators.id;
        }
        step.end = {m_time + 500};
        EXPECT_TRUE(m_writer->addChunk(columns::encodeSpans({0}, spans)));
        EXPECT_TRUE(m_writer->addStep(step));
        EXPECT_TRUE(m_writer->flush());
    }
    void finish() {
        if (!m_writer) return;
        EXPECT_TRUE(m_writer->finalise(RunStatus::kFinished, {m_time + 500}));
        m_writer.reset();
    }

private:
    std::optional<storage::RecordingWriter> m_writer;
    std::int64_t m_time = 0;
    std::int32_t m_steps = 0;
};

}  // namespace shardscope::desktop
