// Speaks the control protocol of `shardscope record --control stdio` without training anything.
//
// The word after --data chooses how the run goes: steps, endless, program (endless, of a command,
// and prints a line for each step), crash, fail, garbage. Every argument is echoed as a log line,
// so that tests see what the desktop asked for.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

/// The next command, or empty after `timeoutMs`; "stop" at the end of input.
std::string command(int timeoutMs) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, timeoutMs) <= 0) return {};
    char text[256];
    const ssize_t got = read(STDIN_FILENO, text, sizeof text - 1);
    static bool s_detached = false;
    if (got <= 0) {
        if (!s_detached) return "stop";
        usleep(static_cast<useconds_t>(timeoutMs) * 1000);
        return {};
    }
    text[got] = '\0';
    if (std::strstr(text, "\"detach\"") != nullptr) {
        s_detached = true;
        return {};
    }
    if (std::strstr(text, "\"kill\"") != nullptr) return "kill";
    if (std::strstr(text, "\"stop\"") != nullptr) return "stop";
    // Without its marks, as a log line that tests see.
    std::string heard = "heard ";
    for (const char* c = text; *c != '\0' && *c != '\n'; ++c) {
        if (*c == ':' || *c == ',') heard += ' ';
        if (std::strchr("{}\":,", *c) == nullptr) heard += *c;
    }
    say(R"({"event":"log","level":"info","text":")" + heard + "\"}");
    return {};
}

void finish(const char* status, const std::string& output, int code, const char* message) {
    say(std::string(R"({"event":"finished","status":")") + status + R"(","output":")" + output +
        R"(","exit_code":)" + std::to_string(code) + R"(,"message":")" + message + R"("})");
}

void step(int index, int steps) {
    const std::string i = std::to_string(index);
    say(R"({"event":"step","step":)" + i + R"(,"steps":)" + std::to_string(steps) + R"(,"loss":)" +
        std::to_string(5.5 / (1 + 0.05 * index)) +
        R"(,"tokens_per_s":2000,"learning_rate":0.0006,"gradient_norm":1.5,)"
        R"("memory_bytes":262144000,"blocked_fraction":0.02,"eta_s":12,"time_s":)" +
        i + "}");
}

void figures(int rank, int index) {
    say(R"({"event":"rank_figures","rank":)" + std::to_string(rank) + R"(,"step":)" +
        std::to_string(index) +
        (rank == 0 ? R"(,"phase":"backward","layer":3,"phase_s":0.02,"waits":false)"
                   : R"(,"phase":"wait for reduction","layer":3,"phase_s":12,"waits":true)") +
        R"(,"queues":false,"tensor_bytes":104857600,"resident_bytes":734003200,)"
        R"("tokens_per_s":1000,"steps_counted":10})");
}

}  // namespace

int main(int argc, char** argv) {
    std::string mode = "steps";
    std::string output;
    int steps = 5;
    constexpr int kEndless = 200, kMostRounds = 30'000;
    for (int i = 1; i < argc; ++i) {
        say(std::string(R"({"event":"log","level":"info","text":"argument )") + argv[i] + "\"}");
        if (i + 1 == argc) break;
        if (std::strcmp(argv[i], "--data") == 0) mode = argv[i + 1];
        if (std::strcmp(argv[i], "--output") == 0) output = argv[i + 1];
        if (std::strcmp(argv[i], "--steps") == 0) steps = std::atoi(argv[i + 1]);
    }
    std::signal(SIGPIPE, SIG_IGN);  // as the real one
    if (mode == "crash") std::abort();
    if (mode == "fail") {
        std::fputs("data file is empty\n", stderr);
        return 3;
    }
    if (mode == "garbage") say("this is not JSON");
    say(R"({"event":"rank","rank":0,"state":"starting","pid":100})");
    say(R"({"event":"started","output":")" + output +
        R"(","model":"shakespeare","strategy":"zero3","ranks":2,"steps":)" + std::to_string(steps) +
        R"(,"parameters":10774272,"command":")" + (mode == "program" ? "python train.py" : "") +
        R"("})");
    say(R"({"event":"rank","rank":0,"state":"running","pid":100})");
    say(R"({"event":"rank","rank":1,"state":"running","pid":101})");
    const bool endless = mode == "endless" || mode == "program";
    for (int i = 0; endless || i < steps; ++i) {
        // nothing that a test started outlives it for long
        if (i > kMostRounds) return 1;
        step(i, endless ? kEndless : steps);
        if (mode == "program" && std::fprintf(stderr, "printed at step %d\n", i) < 0) return 1;
        for (const int rank : {0, 1}) figures(rank, i);
        if (i == 1) {
            say(R"({"event":"validation","step":1,"loss":5.1})");
            say(R"({"event":"sample","step":1,"text":"ROMEO:\nwhat light"})");
        }
        const std::string asked = command(endless ? 20 : 0);
        if (asked == "stop") {
            finish("stopped", output, 0, "stopped by request");
            return 0;
        }
        if (asked == "kill") {
            finish("killed", output, 1, "killed by request");
            return 1;
        }
    }
    finish("finished", output, 0, "");
    return 0;
}
