#include "engine/launch/ssh/key_answer.h"

namespace shardscope::launch {

std::string answerTo(std::string_view question, std::string_view accepted) {
    const bool aboutKey = question.find("(yes/no/[fingerprint])") != question.npos ||
                          question.find("Please type 'yes', 'no'") != question.npos;
    if (!aboutKey) return {};
    const bool thatOne = !accepted.empty() && question.find(accepted) != question.npos;
    return thatOne ? std::string(accepted) : "no";
}

}  // namespace shardscope::launch
