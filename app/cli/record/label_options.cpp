#include "app/cli/record/label_options.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

namespace shardscope::cli {
namespace {

/// The option's name goes before it.
std::string faultOf(const std::string& text) {
    const std::string fault = labelFault(text);
    return fault.empty() ? fault : fmt::format("'{}' {}", printableLine(text), fault);
}

}  // namespace

void LabelOptions::addTo(CLI::App& app) {
    addOption(app, "--name", m_given.name,
              "what you call the run, as info, report, compare and the window show it")
        .takes("TEXT")
        .lastCounts()
        .checkedBy(faultOf);
    addOption(app, "--tag", m_given.tags,
              fmt::format("a word to find the run by, like lr=3e-4; up to {}, each with its own "
                          "--tag",
                          kMostTags))
        .takes("TEXT")
        .oneEach()
        .checkedBy(faultOf);
}

Result<RunLabel> LabelOptions::label(const RunLabel& below) const {
    RunLabel label = below;
    if (!m_given.name.empty()) label.name = m_given.name;
    if (!m_given.tags.empty()) label.tags = m_given.tags;
    if (auto fine = checkLabel(label); !fine) return failure(fine);
    return label;
}

std::vector<std::string> labelArguments(const RunLabel& label) {
    std::vector<std::string> words;
    if (!label.name.empty()) words = {"--name", label.name};
    for (const std::string& tag : label.tags) words.insert(words.end(), {"--tag", tag});
    return words;
}

}  // namespace shardscope::cli
