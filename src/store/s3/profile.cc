#include "store/s3/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "store/checks.h"

namespace airfreight::s3 {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A comment ends a value only where a blank stands before it: keys may hold '#'.
std::string_view WithoutComment(std::string_view value) {
  for (size_t i = 1; i < value.size(); ++i) {
    if ((value[i] == '#' || value[i] == ';') && (value[i - 1] == ' ' || value[i - 1] == '\t')) {
      return value.substr(0, i);
    }
  }
  return value;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

// "[profile  name]" → "profile name".
std::string SectionName(std::string_view line) {
  std::string name;
  for (std::string_view rest = Trim(line.substr(1, line.find(']') - 1)); !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    name += fmt::format("{}{}", name.empty() ? "" : " ", rest.substr(0, end));
    rest = Trim(rest.substr(end));
  }
  return name;
}

std::string FilePath(const Environment& environment, const char* variable, std::string_view name) {
  const std::string home = environment.variable("HOME").value_or("");
  auto named = environment.variable(variable);
  if (!named) return fmt::format("{}/.aws/{}", home, name);
  if (named->starts_with("~/")) return home + named->substr(1);
  return *std::move(named);
}

void Merge(const ProfileFile& file, const std::string& section, Profile& profile) {
  const auto found = file.find(section);
  if (found == file.end()) return;
  profile.found = true;
  for (const auto& [name, value] : found->second) profile.properties[name] = value;
}

}  // namespace

ProfileFile ParseProfileFile(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  ProfileFile file;
  std::map<std::string, std::string>* section = nullptr;
  std::string parent;  // The property without a value, below which indented ones are nested.
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = Trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      parent.clear();
      section = line.find(']') == std::string_view::npos ? nullptr : &file[SectionName(line)];
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name = Lower(Trim(line.substr(0, equals)));
    const std::string value(Trim(WithoutComment(line.substr(equals + 1))));
    if (name.empty()) continue;
    const bool indented = kBlanks.find(raw.front()) != std::string_view::npos;
    if (indented && !parent.empty()) {
      (*section)[fmt::format("{}.{}", parent, name)] = value;
      continue;
    }
    parent = value.empty() ? name : "";
    (*section)[name] = value;
  }
  return file;
}

std::optional<std::string> Profile::Find(const std::string& property) const {
  const auto at = properties.find(property);
  if (at == properties.end() || at->second.empty()) return std::nullopt;
  return at->second;
}

ProfileFiles ReadProfileFiles(const Environment& environment) {
  ProfileFiles files;
  files.paths = {FilePath(environment, "AWS_CONFIG_FILE", "config"),
                 FilePath(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials")};
  files.config = ParseProfileFile(environment.read_file(files.paths[0]).value_or(""));
  files.credentials = ParseProfileFile(environment.read_file(files.paths[1]).value_or(""));
  return files;
}

Profile SelectProfile(const ProfileFiles& files, const std::string& name) {
  Profile profile;
  profile.name = name;
  profile.files = files.paths;
  // In `config` the name of a profile has the word before it, except the default's, which may have.
  if (name == "default") Merge(files.config, "default", profile);
  Merge(files.config, "profile " + name, profile);
  Merge(files.credentials, name, profile);
  if (const auto own = files.credentials.find(name); own != files.credentials.end()) {
    profile.keys_in_credentials_file = own->second.contains("aws_access_key_id");
  }

  profile.endpoint_url = profile.Find("endpoint_url");
  profile.sts_endpoint_url = profile.endpoint_url;
  if (const auto services = profile.Find("services")) {
    if (const auto found = files.config.find("services " + *services);
        found != files.config.end()) {
      const auto of_service = [&](const char* property, std::optional<std::string>& url) {
        const auto at = found->second.find(property);
        if (at != found->second.end() && !at->second.empty()) url = at->second;
      };
      of_service("s3.endpoint_url", profile.endpoint_url);
      of_service("sts.endpoint_url", profile.sts_endpoint_url);
    }
  }
  return profile;
}

Result<Profile> LoadProfile(const std::string& setting, const Environment& environment) {
  const auto variable = environment.variable("AWS_PROFILE");
  const bool named = !setting.empty() || variable.has_value();
  Profile profile = SelectProfile(ReadProfileFiles(environment),
                                  !setting.empty() ? setting : variable.value_or("default"));
  if (named && !profile.found) {
    return Fail(ErrorCode::kInvalid,
                fmt::format("profile {}, named by {}, is neither in {}", Quoted(profile.name),
                            setting.empty() ? "AWS_PROFILE" : "[airfreight] s3_profile",
                            fmt::join(profile.files, " nor in ")));
  }
  return profile;
}

}  // namespace airfreight::s3
