#include "app/manual/program_help.h"

#include <sstream>
#include <utility>

namespace shardscope::manual {
namespace {

bool isHeading(const std::string& line) {
    return line.size() > 1 && line.front() != ' ' && line.back() == ':';
}

void endSection(Section section, std::vector<Section>& sections) {
    while (!section.lines.empty() && section.lines.back().empty()) section.lines.pop_back();
    if (!section.lines.empty()) sections.push_back(std::move(section));
}

}  // namespace

std::vector<Section> sectionsOf(const std::string& footer) {
    std::vector<Section> sections;
    Section current{"Notes", {}};
    std::istringstream lines(footer);
    for (std::string line; std::getline(lines, line);) {
        // What begins at the left after an indented line is said by the way, under no heading.
        const bool returns = !line.empty() && line.front() != ' ' && !current.lines.empty() &&
                             current.lines.back().empty() && current.title != "Notes";
        if (isHeading(line) || returns) {
            endSection(std::exchange(current, {"Notes", {}}), sections);
            if (isHeading(line)) {
                current.title = line.substr(0, line.size() - 1);
                continue;
            }
        }
        if (!current.lines.empty() || !line.empty()) current.lines.push_back(line);
    }
    endSection(std::move(current), sections);
    return sections;
}

}  // namespace shardscope::manual
