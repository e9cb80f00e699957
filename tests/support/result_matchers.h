// EXPECT_THAT(result, IsOk()); EXPECT_THAT(result, FailsWith("no such recording"));
// A failing test prints the error's sentence.
#pragma once

#include "storage/model/result.h"

#include <gmock/gmock.h>

#include <string>

namespace shardscope::test {

MATCHER(IsOk, negation ? "is an error" : "is ok") {
    if (arg.has_value()) return true;
    *result_listener << "whose error is: " << arg.error().message;
    return false;
}

MATCHER_P(FailsWith, text, std::string("fails with a message that holds \"") + text + "\"") {
    if (arg.has_value()) {
        *result_listener << "which is ok";
        return false;
    }
    *result_listener << "whose error is: " << arg.error().message;
    return arg.error().message.find(text) != std::string::npos;
}

MATCHER_P(FailsAs, code, "fails with the expected error code") {
    if (arg.has_value()) {
        *result_listener << "which is ok";
        return false;
    }
    *result_listener << "whose error is: " << arg.error().message;
    return arg.error().code == code;
}

}  // namespace shardscope::test
