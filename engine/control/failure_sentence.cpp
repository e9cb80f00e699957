#include "engine/control/failure_sentence.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

namespace shardscope::control {
namespace {

const char* g_program = "";
int g_status = 1;

[[noreturn]] void end() {
    std::string sentence = "ended for a reason that is not known";
    try {
        if (const auto current = std::current_exception()) std::rethrow_exception(current);
    } catch (const std::exception& error) {
        sentence = sentenceOf(error);
    } catch (...) {
        sentence = "ended by an exception of a foreign type";
    }
    std::fprintf(stderr, "%s: %s\n", g_program, sentence.c_str());
    std::fflush(stderr);
    std::_Exit(g_status);
}

}  // namespace

std::string sentenceOf(const std::exception& error) {
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
        return "out of memory: the system refused more; lower --batch or use more ranks, close "
               "other programs, or raise the limit (ulimit -v)";
    std::string_view words = error.what();
    for (const std::string_view stack : {"\nException raised from ", "\nC++ CapturedTraceback:"})
        words = words.substr(0, words.find(stack));
    return std::string(words.substr(0, words.find_last_not_of(" \n") + 1));
}

void endWithSentence(const char* program, int status) {
    g_program = program;
    g_status = status;
    std::set_terminate(end);
}

}  // namespace shardscope::control
