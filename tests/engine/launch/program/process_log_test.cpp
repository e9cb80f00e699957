// Rows of a program's processes, and why some of them were not recorded.
#include "engine/launch/program/process_log.h"

#include "engine/launch/program/process_evidence.h"
#include "storage/model/host_clock.h"
#include "tests/engine/launch/program/fake_proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace shardscope::launch {
namespace {

using test::FakeProcess;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Above what the kernel gives out, so that no process of this machine is meant.
constexpr pid_t kRoot = 5'000'000;
const std::string kTorch = "7f00 r-xp /venv/torch/lib/libtorch_cpu.so\n";
const std::string kLibrary = "7f00 r-xp /opt/shardscope/libshardscope_inject.so\n";
const std::string kGiven = "SHARDSCOPE_SOCKET=/run/s PYTHONPATH=/opt/hook:/home/a";

GivenVariables given() {
    return {"SHARDSCOPE_SOCKET=/run/s", "/opt/hook", ::geteuid()};
}

FakeProcess python(pid_t pid, const std::string& command = "python train.py") {
    return {.pid = pid,
            .parent = kRoot,
            .command = command,
            .name = "python",
            .environment = kGiven,
            .maps = "55 r-xp /usr/bin/python3.11\n" + kTorch,
            .program = "/usr/bin/python3.11"};
}

class ProcessLogTest : public testing::Test {
protected:
    ProcessLogTest() {
        m_proc.put({.pid = kRoot, .command = "bash job.sh", .environment = kGiven});
    }
    ProcessLog log() const { return ProcessLog(kRoot, given(), 0, m_proc.path()); }
    static ProcessFacts rowOf(const ProcessLog& log, pid_t pid) {
        for (const ProcessFacts& each : log.rows())
            if (each.pid == pid) return each;
        ADD_FAILURE() << "no process " << pid;
        return {};
    }
    /// The reason of such a process, and that there is a diagnostic of it or none.
    std::string reasonOf(const FakeProcess& process) const {
        m_proc.put(process);
        ProcessLog log = this->log();
        log.look({1'000});
        const auto diagnostics = log.diagnostics({2'000});
        const std::string reason = rowOf(log, process.pid).notRecorded;
        EXPECT_THAT(diagnostics, SizeIs(reason.empty() ? 0 : 1));
        m_proc.end(process.pid);
        return reason;
    }

    test::FakeProc m_proc;
};

TEST_F(ProcessLogTest, ARowSaysWhatBecameOfAProcess) {
    FakeProcess child = python(kRoot + 1, "python -u train.py");
    child.ticks = 50;
    child.peakKilobytes = 1'000;
    m_proc.put(child);
    ProcessLog log = this->log();
    log.look({1'000});
    EXPECT_TRUE(log.hadPython());
    log.connected(child.pid);
    m_proc.end(child.pid);
    log.look({std::int64_t{1} << 60});
    log.reported(child.pid, {"rank", 3, 1, {{}, 9}});
    log.rootEnded({2, {}}, {std::int64_t{1} << 60}, 7'000'000'000, {1});
    const auto row = rowOf(log, child.pid);
    EXPECT_EQ(row.parent, kRoot);
    EXPECT_EQ(row.role, ProcessRole::kRank);
    EXPECT_EQ(row.rank, 3);
    EXPECT_EQ(row.attempt, 1);
    EXPECT_EQ(row.command, "python -u train.py");
    EXPECT_EQ(row.exitCode, std::nullopt);
    EXPECT_EQ(row.exitSignal, 9);
    EXPECT_EQ(row.ended, (Timestamp{std::int64_t{1} << 60}));
    EXPECT_EQ(row.cpuTimeNs, 50 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
    EXPECT_EQ(row.peakResident.count, 1'024'000);
    EXPECT_EQ(row.notRecorded, "");
    EXPECT_THAT(log.diagnostics({}), IsEmpty());
    const auto root = rowOf(log, kRoot);
    EXPECT_EQ(root.role, ProcessRole::kProgram);
    EXPECT_EQ(root.exitCode, 2);
    EXPECT_LT(root.cpuTimeNs, 7'000'000'000) << "of that it waited for others";
    EXPECT_EQ(log.cpuNs(), 7'000'000'000);
}

TEST_F(ProcessLogTest, AloneTheFirstProcessUsedEverything) {
    ProcessLog log = this->log();
    log.look({1'000});
    EXPECT_FALSE(log.hadPython());
    log.rootEnded({{}, 15}, {5'000}, 7'000'000'000, {300});
    const auto row = rowOf(log, kRoot);
    EXPECT_EQ(row.cpuTimeNs, 7'000'000'000);
    EXPECT_GE(row.peakResident.count, 300);
    EXPECT_EQ(row.exitSignal, 15);
}

TEST_F(ProcessLogTest, ANumberThatIsGivenAgainHasTwoRows) {
    ProcessLog log = this->log();
    m_proc.put(python(kRoot + 1));
    log.look({1'000});
    log.connected(kRoot + 1);
    FakeProcess again = python(kRoot + 1, "python again.py");
    again.start = 2'000;
    m_proc.put(again);
    log.look({2'000});
    log.reported(kRoot + 1, {"rank", 0, 0, {}});
    const auto rows = log.rows();
    ASSERT_THAT(rows, SizeIs(3));
    EXPECT_EQ(rows[1].rank, 0);
    EXPECT_EQ(rows[2].command, "python again.py");
    EXPECT_EQ(rows[2].rank, -1);
}

TEST_F(ProcessLogTest, OneThatEndedBeforeItsConnectionWasTakenReportedToo) {
    m_proc.put(python(kRoot + 1));
    ProcessLog log = this->log();
    log.look({1'000});
    m_proc.end(kRoot + 1);
    log.look({2'000});
    log.connected(kRoot + 1);
    log.reported(kRoot + 1, {"rank", 0, 0, {0, {}}});
    EXPECT_THAT(log.rows(), SizeIs(2));
    EXPECT_EQ(rowOf(log, kRoot + 1).rank, 0);
    EXPECT_EQ(rowOf(log, kRoot + 1).exitCode, 0);
    EXPECT_THAT(log.diagnostics({}), IsEmpty());
}

TEST_F(ProcessLogTest, TimesAreTheRecordingsClock) {
    FakeProcess child = python(kRoot + 1);
    child.start = 123'456;
    m_proc.put(child);
    const std::int64_t origin = hostNow();
    ProcessLog log(kRoot, given(), origin, m_proc.path());
    log.look({1'000});
    timespec boot{};
    ::clock_gettime(CLOCK_BOOTTIME, &boot);
    const std::int64_t sinceBoot = std::int64_t{boot.tv_sec} * 1'000'000'000 + boot.tv_nsec;
    const std::int64_t started = 123'456 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
    EXPECT_NEAR(static_cast<double>(rowOf(log, child.pid).started.ns),
                static_cast<double>(started - sinceBoot + (hostNow() - origin)), 1e9);
}

TEST_F(ProcessLogTest, WhatHasNothingToRecordHasNoReason) {
    const FakeProcess shell{.pid = kRoot + 1, .parent = kRoot, .maps = "55 r-xp /bin/sh\n"};
    EXPECT_EQ(reasonOf(shell), "");
    FakeProcess noTorch = python(kRoot + 1, "python -I tool.py");
    noTorch.maps = "55 r-xp /usr/bin/python3.11\n";
    EXPECT_EQ(reasonOf(noTorch), "");
    FakeProcess loader = python(kRoot + 1);
    loader.maps += kLibrary;
    EXPECT_EQ(reasonOf(loader), "") << "our library is there, and decided so";
    FakeProcess manager = python(kRoot + 1, "torch_shm_manager");
    manager.program = "/venv/torch/bin/torch_shm_manager";
    EXPECT_EQ(reasonOf(manager), "");
    FakeProcess unreadable = python(kRoot + 1, "sudo python train.py");
    unreadable.maps.clear();
    EXPECT_EQ(reasonOf(unreadable), "") << "nothing is known of it";
}

TEST_F(ProcessLogTest, WhatLoadedPyTorchAndDidNotReportHasAReason) {
    EXPECT_THAT(reasonOf(python(kRoot + 1, "python -I train.py")), HasSubstr("started with -I"));
    EXPECT_THAT(reasonOf(python(kRoot + 1, "python -uE -m train")), HasSubstr("started with -E"));
    EXPECT_THAT(reasonOf(python(kRoot + 1, "python -X dev -S train.py")), HasSubstr("with -S"));
    for (const char* script : {"python train.py -I", "python -m train -E", "python -c pass -S",
                               "python -W IES train.py"})
        EXPECT_THAT(reasonOf(python(kRoot + 1, script)), HasSubstr("why is unknown")) << script;

    FakeProcess stripped = python(kRoot + 1);
    stripped.environment = "HOME=/root";
    EXPECT_THAT(reasonOf(stripped), HasSubstr("SHARDSCOPE_SOCKET"));
    stripped.environment.clear();
    EXPECT_THAT(reasonOf(stripped), HasSubstr("SHARDSCOPE_SOCKET")) << "env -i";
    FakeProcess replaced = python(kRoot + 1);
    replaced.environment = "SHARDSCOPE_SOCKET=/run/s PYTHONPATH=/srv";
    EXPECT_THAT(reasonOf(replaced), HasSubstr("PYTHONPATH"));
    FakeProcess cpp = python(kRoot + 1, "./serve model.pt");
    cpp.program = "/srv/serve";
    cpp.maps = "55 r-xp /srv/serve\n" + kTorch;
    EXPECT_THAT(reasonOf(cpp), HasSubstr("C++ programs are not recorded yet"));
    cpp.maps += "7f r-xp /usr/lib/libpython3.11.so.1.0\n";
    EXPECT_THAT(reasonOf(cpp), HasSubstr("why is unknown")) << "Python is in it";
}

TEST_F(ProcessLogTest, PyTorchMayComeLater) {
    FakeProcess child = python(kRoot + 1, "python -I train.py");
    child.maps = "55 r-xp /usr/bin/python3.11\n";
    m_proc.put(child);
    ProcessLog log = this->log();
    for (int i = 0; i < 3; ++i) log.look({1'000});
    EXPECT_EQ(rowOf(log, child.pid).notRecorded, "");
    child.maps += kTorch;
    m_proc.put(child);
    for (int i = 0; i < 3; ++i) log.look({2'000});
    EXPECT_THAT(rowOf(log, child.pid).notRecorded, HasSubstr("-I"));
    log.connected(child.pid);
    EXPECT_EQ(rowOf(log, child.pid).notRecorded, "") << "it reported after all";
}

TEST_F(ProcessLogTest, AnotherUserCannotReachTheSocket) {
    GivenVariables others = given();
    others.user += 1;
    m_proc.put(python(kRoot + 1));
    ProcessLog log(kRoot, others, 0, m_proc.path());
    log.look({1'000});
    EXPECT_THAT(rowOf(log, kRoot + 1).notRecorded, HasSubstr("another user"));
}

TEST_F(ProcessLogTest, ManyAlikeAreOneDiagnostic) {
    for (int i = 1; i <= 5; ++i) m_proc.put(python(kRoot + i, "python -I w.py"));
    FakeProcess stripped = python(kRoot + 6, "python s.py");
    stripped.environment = "HOME=/root";
    m_proc.put(stripped);
    ProcessLog log = this->log();
    log.look({1'000});
    const auto all = log.diagnostics({2'000});
    ASSERT_THAT(all, SizeIs(2));
    for (const Diagnostic& each : all) {
        EXPECT_EQ(each.code, "not-recorded");
        EXPECT_EQ(each.severity, Severity::kWarning);
        EXPECT_NE(each.remedy, "");
        EXPECT_EQ(each.time.ns, 2'000);
        EXPECT_EQ(each.rank, std::nullopt);
    }
    EXPECT_EQ(all[0].count, 5);
    EXPECT_THAT(all[0].message, HasSubstr("5 processes, such as process 5000001 (python -I w.py)"));
    EXPECT_EQ(all[1].count, 1);
    EXPECT_THAT(all[1].message, HasSubstr("process 5000006 (python s.py) was not recorded: its"));
}

TEST_F(ProcessLogTest, WithoutAnythingGivenThereIsOneReasonAndNoDiagnostic) {
    GivenVariables nothing;
    nothing.user = ::geteuid();
    m_proc.put(python(kRoot + 1));
    ProcessLog log(kRoot, nothing, 0, m_proc.path());
    log.look({1'000});
    EXPECT_THAT(rowOf(log, kRoot + 1).notRecorded, HasSubstr("not given"));
    EXPECT_THAT(log.diagnostics({}), IsEmpty()) << "said where they were not given";
}

TEST(ProcessRoles, AreKnownByCommand) {
    using R = ProcessRole;
    const auto role = [](const char* command) { return roleByCommand("python", command); };
    EXPECT_EQ(role("torchrun --nproc-per-node 2 train.py"), R::kLauncher);
    EXPECT_EQ(role("/usr/bin/python3 /venv/bin/torchrun train.py"), R::kLauncher);
    EXPECT_EQ(role("python -u -m torch.distributed.run train.py"), R::kLauncher);
    EXPECT_EQ(role("python /venv/bin/accelerate launch train.py"), R::kLauncher);
    EXPECT_EQ(role("python /venv/bin/accelerate config"), R::kOther);
    EXPECT_EQ(role("python train.py torchrun"), R::kOther);
    EXPECT_EQ(role("python -c from multiprocessing.resource_tracker import main;main(5)"),
              R::kHelper);
    EXPECT_EQ(role("python torch/_inductor/compile_worker/__main__.py"), R::kHelper);
    EXPECT_EQ(roleByCommand("pt_data_worker", "python train.py"), R::kLoader);
    EXPECT_EQ(role(""), R::kOther);
}

}  // namespace
}  // namespace shardscope::launch
