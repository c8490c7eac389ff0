#include "rules/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "airfreight/rules.h"

namespace airfreight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> Problems(const std::string& setting) {
  std::vector<std::string> problems;
  ParseRules("[[rules]]\nname = \"a\"\n" + setting, "p.toml", &problems);
  return problems;
}

std::string ValueOf(const std::string& name, const std::string& written) {
  std::vector<std::string> problems;
  const Rules rules = ParseRules(
      "[stores.eu]\nuri = \"s3://b\"\n[[rules]]\n" + name + " = " + written, "p.toml", &problems);
  EXPECT_THAT(problems, testing::IsEmpty());
  if (rules.rules.empty()) return "";
  EXPECT_EQ(rules.rules[0].lines.at(name), 4);
  return rules.rules[0].values.at(name);
}

TEST(RuleSettingsTest, EachSettingHasItsValueInOneSpelling) {
  EXPECT_EQ(ValueOf("store", "\"eu\""), "eu");
  EXPECT_EQ(ValueOf("store", "\"default\""), "default");
  EXPECT_EQ(ValueOf("max_size", "\"2GiB\""), "2147483648");
  EXPECT_EQ(ValueOf("max_size", "7"), "7");
  EXPECT_EQ(ValueOf("encryption_key", "\"projects/p/cryptoKeys/k\""), "projects/p/cryptoKeys/k");
  EXPECT_EQ(ValueOf("retention", "\"90s\""), "90");
  EXPECT_EQ(ValueOf("retention", "\"5m\""), "300");
  EXPECT_EQ(ValueOf("retention", "\"36h\""), "129600");
  EXPECT_EQ(ValueOf("retention", "\"7d\""), "604800");
  EXPECT_EQ(ValueOf("retention", "\"2w\""), "1209600");
  EXPECT_EQ(ValueOf("retention", "\"forever\""), "0");
  EXPECT_EQ(ValueOf("digest", "\"sha256\""), "sha256");
  EXPECT_EQ(ValueOf("outage", "\"fail\""), "fail");
  EXPECT_EQ(ValueOf("outage", "\"inline\""), "inline");
  EXPECT_EQ(ValueOf("pickle", "\"never\""), "never");
  EXPECT_EQ(ValueOf("accept_external", "true"), "true");
  EXPECT_EQ(ValueOf("accept_external", "\"false\""), "false");
  EXPECT_EQ(ValueOf("threshold", "-1"), "-1");
  EXPECT_EQ(ValueOf("preview_rows", "3"), "3");
  EXPECT_EQ(ValueOf("may_change", "[\"retention\", \"format\", \"format\"]"), "format,retention");
  EXPECT_EQ(ValueOf("may_change", "[]"), "");
}

TEST(RuleSettingsTest, WhatIsWrongNamesRuleLineAndSettingAndShowsWhatIsRight) {
  constexpr char kPlace[] = "p.toml, line 3: rule 'a': ";
  for (const auto& [setting, said] : std::vector<std::pair<std::string, std::string>>{
           {"store = \"us\"", "store is 'us', and there is no [stores.us]; the stores are default"},
           {"store = \"\"", "store is no name of a store. Example: store = \"eu\""},
           {"max_size = \"2 gigs\"", "max_size is no size. Example: max_size = \"64MiB\""},
           {"max_size = -1", "max_size is no size"},
           {"encryption_key = \"\"", "encryption_key is the name of a key"},
           {"encryption_key = \"a\\r\\nx-amz-acl: public-read\"",
            "encryption_key is the name of a key"},
           {"retention = 7", "retention is '7'; right is a whole number of s, m, h, d or w"},
           {"retention = \"0d\"", "retention is '0d'; right is"},
           {"retention = \"7 days\"", "Example: retention = \"7d\""},
           {"retention = \"99999999999999d\"", "retention is '99999999999999d'"},
           {"digest = \"md5\"", "digest is 'md5'; right is one of crc32c, sha256"},
           {"outage = \"wait\"", "outage is 'wait'; right is one of fail, inline"},
           {"pickle = \"allow\"", "pickle = \"allow\" is for [airfreight] pickle alone"},
           {"pickle = \"sometimes\"", "right is one of never"},
           {"accept_external = 1", "accept_external is '1'; right is one of true, false"},
           {"preview_rows = 101", "preview_rows is a whole number from 0 to 100"},
           {"may_change = [\"store\"]", "may_change lists 'store', which is not for a DAG"},
           {"may_change = [\"pickle\"]", "may_change lists 'pickle', which is not for a DAG"},
           {"may_change = [\"encryption_key\"]", "may_change lists 'encryption_key'"},
           {"may_change = [\"preview_rows\"]", "may_change lists 'preview_rows'"},
           {"may_change = [1]", "'may_change' is no text"},
           {"describe = 1.5", "'describe' is no text"},
       }) {
    EXPECT_THAT(Problems(setting), ElementsAre(testing::AllOf(StartsWith(kPlace), HasSubstr(said))))
        << setting;
  }
}

TEST(RuleSettingsTest, WhatIsNotKnownIsToldWithAllThatIs) {
  EXPECT_THAT(Problems("ttl = \"7d\""),
              ElementsAre(HasSubstr(
                  "'ttl' is not known; known are name, the matchers dag, task, "
                  "key, type, min_size and below_size, and the settings "
                  "accept_external, compression, describe, digest, "
                  "encryption_key, format, max_size, may_change, outage, pickle, preview_rows, "
                  "retention, seal, store, threshold")));
  std::string problem;
  EXPECT_EQ(CanonicalSetting("ttl", "7d", &problem), std::nullopt);
  EXPECT_EQ(problem, "'ttl' is not known");
}

TEST(RuleSettingsTest, WhatADagMayChangeByDefaultItMayBeAllowedTo) {
  std::string problem;
  EXPECT_EQ(CanonicalSetting("may_change", kChangeableByDefault, &problem), kChangeableByDefault);
}

}  // namespace
}  // namespace airfreight
