// The real programs on a module whose devices are host memory.
#pragma once

#include "storage/model/events.h"
#include "tests/app/cli/program.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::cli {

class FakeGpuTest : public CliTest {
protected:
    FakeGpuTest();

    std::unique_ptr<Program> record(const std::vector<std::string>& more = {});
    nlohmann::json report();
    /// What the tracer saw on a rank's stream.
    std::vector<SpanEvent> kernels(std::uint32_t rank = 0);
    /// The step in which a rank's last phase was.
    std::int32_t lastStep(std::uint32_t rank = 0);

private:
    std::vector<SpanEvent> spans(std::uint32_t rank, LaneId lane);
};

}  // namespace shardscope::cli
