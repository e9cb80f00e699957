#include "app/cli/doctor/doctor_report.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string sectionOf(const Check& check) {
    return check.id.substr(0, check.id.find('.'));
}

/// "open_files" -> "open files"
std::string subjectOf(const Check& check) {
    std::string subject = check.id.substr(check.id.find('.') + 1);
    std::replace(subject.begin(), subject.end(), '_', ' ');
    return subject;
}

std::string heading(std::string section) {
    if (section == "gpu") return "GPU";
    section[0] = static_cast<char>(section[0] - 'a' + 'A');
    return section;
}

std::string verdict(const Diagnosis& diagnosis) {
    const auto word = [](bool works) { return works ? "works" : "does not work"; };
    std::string text = fmt::format("Training on the CPU {}, on a GPU it {}", word(diagnosis.cpu),
                                   word(diagnosis.cuda));
    if (diagnosis.cuda) {
        text += diagnosis.tracing ? ", kernels can be recorded"
                                  : ", kernels cannot be recorded: phases are timed instead";
    }
    return text + ".\n";
}

}  // namespace

std::string doctorText(const Diagnosis& diagnosis) {
    std::string text;
    std::string section;
    std::size_t width = 0;
    for (const Check& check : diagnosis.checks) width = std::max(width, subjectOf(check).size());
    for (const Check& check : diagnosis.checks) {
        if (sectionOf(check) != section) {
            section = sectionOf(check);
            text += heading(section) + "\n";
        }
        text += fmt::format("  {:<8} {:<{}}  {}\n", toWord(check.status), subjectOf(check), width,
                            printableLine(check.found));
        if (!check.remedy.empty())
            text +=
                fmt::format("  {:<8} {:<{}}  -> {}\n", "", "", width, printableLine(check.remedy));
    }
    return text + verdict(diagnosis);
}

std::string doctorJson(const Diagnosis& diagnosis) {
    Json json;
    json["schema"] = "shardscope.doctor/1";
    json["exit_code"] = diagnosis.exitCode;
    json["works"] = {
        {"cpu", diagnosis.cpu}, {"cuda", diagnosis.cuda}, {"tracing", diagnosis.tracing}};
    json["checks"] = Json::array();
    for (const Check& check : diagnosis.checks) {
        json["checks"].push_back({{"id", check.id},
                                  {"section", sectionOf(check)},
                                  {"status", toWord(check.status)},
                                  {"found", check.found},
                                  {"remedy", check.remedy.empty() ? Json() : Json(check.remedy)}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shardscope::cli
