// What a recording keeps of the environment.
#pragma once

#include <map>
#include <string>

namespace shardscope::cli {

/// Variables that can change a run's speed or result, as a JSON object of name to value. By whole
/// names: whatever else begins like one of them may be a secret.
/// `passed`: what ranks on other hosts are given besides.
[[nodiscard]] std::string environmentJson(const std::map<std::string, std::string>& passed = {});

/// What ranks on other hosts are given of this process's environment (HostConfig::mayPass).
[[nodiscard]] std::map<std::string, std::string> passedEnvironment();

}  // namespace shardscope::cli
