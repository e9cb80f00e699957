#include "tests/support/sample_recording.h"

#include "engine/run/theory/device_peaks.h"
#include "engine/run/theory/theory.h"
#include "storage/model/host_facts.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "tests/support/sample_run.h"

#include <cmath>

namespace shardscope::test {
namespace {

using storage::RecordingWriter;

run::RunConfig configOf(const SampleOptions& options) {
    run::RunConfig config;
    config.vocabularyPieces = 1;  // the sample gathers its root whole
    config.ranks = options.ranks;
    config.steps = options.steps;
    config.model.layers = options.blocks;
    config.evaluateEvery = options.evaluateEvery;
    config.output = "sample.sscope";
    if (!options.gpu) return config;
    config.device = run::Device::kCuda;
    config.shareDevice = options.gpuShared;
    config.precision = run::Precision::kBFloat16;
    config.model = *run::findModelPreset("ref");
    config.model.layers = options.blocks;
    config.batch = 64;
    return config;
}

RunFacts runOf(const run::RunConfig& config) {
    RunFacts run;
    run.id = "0123456789abcdef0123456789abcdef";
    run.configJson = run::toJson(config);
    run.commandLine = "shardscope record --strategy zero3 --output sample.sscope";
    run.product = "shardscope 0.1.0 (sample)";
    run.librariesJson = R"({"sample":"1"})";
    run.environmentJson = "{}";
    run.model = config.model.name;
    run.strategy = toWord(config.strategy);
    run.worldSize = config.ranks;
    run.parameters = theory::parameterCount(config.model);
    run.startedUnixNs = 1'767'225'600'000'000'000;
    return run;
}

Result<void> declareRank(RecordingWriter& writer, const SampleOptions& options,
                         const run::RunConfig& config, RankId rank) {
    const LaneFacts lanes[] = {
        {rank, lanes::kSteps.id, LaneRole::kRange, "step", "", 0},
        {rank, lanes::kPhases.id, LaneRole::kCompute, "compute", "", 1},
        {rank, lanes::kOperators.id, LaneRole::kHost, "operators", "", 2},
        {rank, lanes::kCommunication.id, LaneRole::kCommunication, "communication", "", 3},
        {rank, lanes::kResidentSet.id, LaneRole::kCounter, "resident set", "bytes", 4},
        {rank, lanes::kCpuTime.id, LaneRole::kCounter, "CPU time", "ns", 5}};
    for (const LaneFacts& lane : lanes) {
        if (lane.lane == lanes::kOperators.id && !options.operators) continue;
        if (auto done = writer.addLane(lane); !done) return done;
    }
    if (options.gpu) {
        for (const LaneFacts& lane : SampleDevice::lanes(rank, options.gpuTraced))
            if (auto done = writer.addLane(lane); !done) return done;
    }
    const auto theory = theory::memoryTheory(config);
    for (int category = 0; category < kMemoryCategoryCount; ++category) {
        auto done = writer.addMemoryTheory({rank, static_cast<MemoryCategory>(category),
                                            theory[static_cast<std::size_t>(category)]});
        if (!done) return done;
    }
    for (const auto& [fact, value] :
         {std::pair{Fact::kProducts, "MKL"}, std::pair{Fact::kAttention, "flash"}}) {
        auto done = writer.putFact({toWord(fact), 0, static_cast<std::int32_t>(rank.value), value});
        if (!done) return done;
    }
    return {};
}

std::int32_t hostOf(const SampleOptions& options, RankId rank) {
    return options.ranksPerHost == 0 ? 0
                                     : static_cast<std::int32_t>(rank.value) / options.ranksPerHost;
}

/// Clocks of other hosts than the first, the recorder's, are right within a microsecond.
Result<void> addHosts(RecordingWriter& writer, const SampleOptions& options) {
    const RankId last{static_cast<std::uint32_t>(options.ranks - 1)};
    for (std::int32_t host = 0; host <= hostOf(options, last); ++host) {
        const HostFacts facts{host,
                              host == 0 ? "localhost" : "node" + std::to_string(host),
                              "sample CPU",
                              2,
                              Bytes{8'000'000'000},
                              "boot",
                              0,
                              host == 0 ? 0 : 1'000};
        if (auto added = writer.addHost(facts); !added) return added;
    }
    return {};
}

DeviceFacts deviceOf(const SampleOptions& options, RankId rank) {
    DeviceFacts device;
    device.rank = rank;
    device.name = options.gpuName;
    const unsigned index = options.gpuShared ? 0 : rank.value;
    device.uuid = "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index);
    device.pciBusId = "0000:" + std::to_string(17 + index) + ":00.0";
    device.memory = {85'520'809'984};
    device.driver = "580.159.04";
    device.sharedBy = options.gpuShared ? options.ranks : 1;
    device.attention = "cudnn";
    device.tracing = options.gpuTraced ? "CUPTI 130001"
                                       : "not traced: another profiler uses CUPTI in this process";
    const auto vendor = theory::devicePeak(device.name, "bf16");
    if (vendor.value) device.vendorPeak = vendor.value->flops;
    device.vendorPeakSource =
        vendor.value ? "dense bf16, accumulated in fp32, " + vendor.value->source : vendor.reason;
    device.measuredPeakSource = "not measured: calibration was switched off";
    if (options.peakKnown) {
        device.measuredPeak = 7.18e14;
        device.measuredPeakSource =
            "measured: best bf16 (32768 x 1024) x (1024 x 4096) matrix product of random data "
            "before the first step";
    }
    device.clockErrorNs = 900;
    return device;
}

Result<void> noteDevices(RecordingWriter& writer, const SampleOptions& options) {
    if (!options.gpuTraced) {
        auto noted = writer.addDiagnostic(
            {Severity::kWarning, "cupti-busy",
             "kernels are not traced: another profiler uses CUPTI in this process",
             "End it, or leave the device untraced with --device-capture never.", RankId{0},
             Timestamp{}, options.ranks});
        if (!noted) return noted;
    }
    if (!options.gpuShared) return {};
    return writer.addDiagnostic(
        {Severity::kWarning, "shared-device",
         "shared device: " + std::to_string(options.ranks) + " ranks use one " + options.gpuName +
             "; their kernels take turns, so no time in this recording says how fast the run "
             "would be on a device each",
         "Use one GPU a rank for figures of speed.", RankId{0}, Timestamp{}, 1});
}

Result<void> putRank(RecordingWriter& writer, const SampleOptions& options,
                     const SampleRank& rank) {
    RankFacts facts;
    facts.rank = rank.id;
    facts.pid = 4000 + rank.id.value;
    facts.host = hostOf(options, rank.id);
    facts.device = "cpu (1 thread)";
    facts.peakSource = "not measured: calibration was switched off";
    if (options.peakKnown) {
        facts.peakFlops = 9.0e10;
        facts.peakSource = "measured matrix multiply, fp32, 1024 x 1024 x 1024";
    }
    if (options.gpu) {
        const DeviceFacts device = deviceOf(options, rank.id);
        facts.device = device.name + " (" + device.pciBusId + ")";
        facts.peakFlops = device.vendorPeak;
        facts.peakSource = device.vendorPeakSource;
        if (options.gpuShared) {
            facts.peakFlops.reset();
            facts.peakSource = "shared device: ranks that take turns have no peak of their own";
        }
        if (auto put = writer.putDevice(device); !put) return put;
    }
    facts.emitted = rank.emitted() + options.dropped;
    facts.dropped = options.dropped;
    if (options.finalise) facts.exitCode = 0;
    return writer.putRank(facts);
}

Result<void> addMetrics(RecordingWriter& writer, const SampleRun& run, std::int32_t step) {
    const StepFacts& facts = run.steps().front();
    const double loss = 2.4 + 3.1 * std::exp(-step / 12.0);
    const std::pair<const char*, double> values[] = {
        {"loss", loss},
        {"learning_rate", 6e-4 * std::min(1.0, (step + 1) / 10.0)},
        {"gradient_norm", 0.6 + 1.5 * std::exp(-step / 6.0)},
        {"tokens_per_s", static_cast<double>(facts.tokens) *
                             static_cast<double>(run.steps().size()) /
                             facts.range().duration().seconds()}};
    for (const auto& [name, value] : values) {
        auto done = writer.addMetric({name, facts.step, facts.end, value});
        if (!done) return done;
    }
    if (!run.evaluates(step)) return {};
    return writer.addMetric({"validation_loss", facts.step, facts.end, loss + 0.08});
}

Result<void> sendAll(RecordingWriter& writer, const SampleOptions& options, SampleRun& run) {
    for (SampleRank& rank : run.ranks()) {
        if (auto sent = rank.send(writer); !sent) return sent;
        if (auto put = putRank(writer, options, rank); !put) return put;
    }
    return {};
}

Result<void> addSteps(RecordingWriter& writer, const SampleOptions& options, SampleRun& run) {
    Timestamp sent = run.ranks().front().now;
    for (std::int32_t step = 0; step < options.steps; ++step) {
        run.step(step);
        const Timestamp now = run.ranks().front().now;
        const bool due = step + 1 == options.steps || now - sent >= options.sentEvery;
        if (due) {
            if (auto done = sendAll(writer, options, run); !done) return done;
            sent = now;
        }
        for (const StepFacts& facts : run.steps())
            if (auto added = writer.addStep(facts); !added) return added;
        if (auto added = addMetrics(writer, run, step); !added) return added;
        if (!due) continue;
        if (auto flushed = writer.flush(); !flushed) return flushed;
    }
    return {};
}

/// A script, its ranks, and a helper that was not recorded and outlived it.
Result<void> addProcesses(RecordingWriter& writer, const SampleOptions& options, Timestamp end) {
    std::vector<ProcessFacts> all;
    const auto add = [&all](ProcessRole role, std::int64_t pid, const char* command) {
        ProcessFacts process;
        process.pid = pid;
        process.parent = all.empty() ? 1 : 4000;
        process.role = role;
        process.command = command;
        process.started =
            Timestamp{static_cast<std::int64_t>(all.size()) * 10'000'000 - 20'000'000};
        process.cpuTimeNs = 1'500'000'000;
        process.peakResident = {300'000'000};
        all.push_back(process);
        return &all.back();
    };
    ProcessFacts* script = add(ProcessRole::kProgram, 4000, "bash job.sh");
    script->ended = end;
    script->exitCode = 1;
    for (std::int32_t rank = 0; rank < options.ranks; ++rank) {
        ProcessFacts* each = add(ProcessRole::kRank, 4242 + rank, "python train.py");
        each->rank = rank;
        each->ended = end;
        each->exitSignal = rank == 0 ? 9 : 15;
    }
    add(ProcessRole::kOther, 4900, "python -I extra.py")->notRecorded =
        "Python was started with -I, which keeps the recorder's start hook out";
    for (const ProcessFacts& each : all)
        if (auto put = writer.putProcess(each); !put) return put;
    return {};
}

}  // namespace

Result<void> writeSampleRecording(const std::string& path, const SampleOptions& options) {
    const run::RunConfig config = configOf(options);
    auto writer = RecordingWriter::create(path, runOf(config), true);
    if (!writer) return failure(writer);
    if (auto added = addHosts(*writer, options); !added) return failure(added);
    SampleRun run(options, config);
    for (const SampleRank& rank : run.ranks())
        if (auto done = declareRank(*writer, options, config, rank.id); !done) return done;
    if (options.gpu)
        if (auto noted = noteDevices(*writer, options); !noted) return noted;
    run.prepare();
    if (auto added = addSteps(*writer, options, run); !added) return added;
    const Timestamp end = run.ranks().front().now;
    if (options.program)
        if (auto added = addProcesses(*writer, options, end); !added) return added;
    if (!options.finalise) return {};
    return writer->finalise(
        options.status, end,
        options.pyramids ? storage::Pyramids::kAll : storage::Pyramids::kWhereTheyHelp);
}

}  // namespace shardscope::test
