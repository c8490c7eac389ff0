#include "airfreight/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace airfreight {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Problems(std::string_view text) {
  std::vector<std::string> problems;
  ParseRules(text, "p.toml", &problems);
  return problems;
}

TEST(RulesTest, BesideAnEncryptionKeyNothingStaysInTheRow) {
  EXPECT_THAT(Problems("[[rules]]\nencryption_key = \"k\"\nthreshold = -1"),
              ElementsAre(HasSubstr("line 3: rule '#1': threshold is '-1' beside an "
                                    "encryption_key")));
  EXPECT_THAT(Problems("[[rules]]\nthreshold = \"1KiB\"\nencryption_key = \"k\""),
              ElementsAre(HasSubstr("line 2: rule '#1': threshold is '1024' beside")));
  EXPECT_THAT(Problems("[[rules]]\nthreshold = 1\nseal = true"),
              ElementsAre(HasSubstr("line 2: rule '#1': threshold is '1' beside seal")));
  EXPECT_THAT(Problems("[[rules]]\nthreshold = 1\nseal = false"), IsEmpty());
  EXPECT_THAT(Problems("[[rules]]\nthreshold = 0\nencryption_key = \"k\""), IsEmpty());
}

TEST(RulesTest, StoresAliasesAndRulesAreRead) {
  std::vector<std::string> problems;
  const Rules rules = ParseRules(R"([stores.eu]
uri = "s3://bucket/xcom"
endpoint_url = "https://minio:9000"
[aliases]
"s3://old/xcom" = "s3://bucket/xcom"
[[rules]]
name = "pii"
dag = ["sales_*", "hr"]
type = "pandas.*"
min_size = "1MiB"
format = "arrow"
threshold = "2GB"
preview_rows = 0
)",
                                 "p.toml", &problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(rules.stores.at("eu").uri, "s3://bucket/xcom");
  EXPECT_EQ(rules.stores.at("eu").settings.at("endpoint_url"), "https://minio:9000");
  EXPECT_THAT(rules.aliases, ElementsAre(std::pair("s3://old/xcom", "s3://bucket/xcom")));
  const Rule& rule = rules.rules.at(0);
  EXPECT_EQ(rule.line, 6);
  EXPECT_EQ(rule.min_size, 1U << 20);
  EXPECT_EQ(rule.values.at("threshold"), "2000000000");
  EXPECT_EQ(rule.values.at("preview_rows"), "0");
  EXPECT_EQ(rule.lines.at("format"), 11);
}

TEST(RulesTest, FirstThatMatchesWinsAndAnUnknownSizeMatchesNoSize) {
  std::vector<std::string> problems;
  const Rules rules = ParseRules(R"([[rules]]
name = "large"
min_size = 100
[[rules]]
name = "sales"
dag = "sales_*"
)",
                                 "p.toml", &problems);
  ASSERT_THAT(problems, IsEmpty());
  EXPECT_EQ(rules.Find({"sales_eu", "t", "k", "json", 100})->name, "large");
  EXPECT_EQ(rules.Find({"sales_eu", "t", "k", "json", 99})->name, "sales");
  EXPECT_EQ(rules.Find({"sales_eu", "t", "k", "json", std::nullopt})->name, "sales");
  EXPECT_EQ(rules.Find({"other", "t", "k", "json", 99}), nullptr);
}

TEST(RulesTest, GlobsMatchWholeTexts) {
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("a*b*c", "a1b2b3c"));
  EXPECT_TRUE(Matches("sales_?", "sales_1"));
  EXPECT_FALSE(Matches("sales_?", "sales_"));
  EXPECT_FALSE(Matches("sales", "sales_1"));
  EXPECT_FALSE(Matches("a*b", "abc"));
}

TEST(RulesTest, WhatIsWrongNamesRuleLineAndSetting) {
  EXPECT_THAT(Problems("[[rules]]\nname = \"a\"\nformat = \"csv\""),
              ElementsAre("p.toml, line 3: rule 'a': format is 'csv'; right is one of parquet, "
                          "arrow"));
  EXPECT_THAT(Problems("[[rules]]\nfromat = \"csv\""),
              ElementsAre(HasSubstr("line 2: rule '#1': 'fromat' is not known")));
  EXPECT_THAT(Problems("[[rules]]\nthreshold = \"big\""), ElementsAre(HasSubstr("is no size")));
  EXPECT_THAT(Problems("[[rules]]\nthreshold = \"99999999TiB\""),
              ElementsAre(HasSubstr("is no size")));
  EXPECT_THAT(Problems("[[rules]]\ndag = []"), ElementsAre(HasSubstr("dag is a pattern")));
  EXPECT_THAT(Problems("[stores.eu]\nregion = \"x\""), ElementsAre(HasSubstr("has no uri")));
  EXPECT_THAT(Problems("a = "), ElementsAre(HasSubstr("p.toml, line 1: it is not TOML")));
}

TEST(RulesTest, ANameThatIsLikeAKnownOneIsAskedAbout) {
  EXPECT_THAT(Problems("[[rules]]\nfromat = \"arrow\""),
              ElementsAre(HasSubstr("line 2: rule '#1': 'fromat' is not known; did you mean "
                                    "format?")));
  EXPECT_THAT(Problems("[[rules]]\ndags = \"arrow\""), ElementsAre(HasSubstr("mean dag?")));
  EXPECT_THAT(Problems("[[rule]]\nformat = \"arrow\""),
              ElementsAre(HasSubstr("line 1: 'rule' is not known; did you mean rules?")));
  EXPECT_THAT(Problems("[stores.europe]\nuri = \"s3://b\"\n[[rules]]\nstore = \"eurpoe\""),
              ElementsAre(HasSubstr("there is no [stores.eurpoe]; did you mean europe?")));
  EXPECT_THAT(Problems("[[rules]]\nstore = \"eu\""),
              ElementsAre(HasSubstr("there is no [stores.eu]; the stores are default")));
}

TEST(RulesTest, StoresAliasesMatchersAndSettingsKnowTheirLines) {
  std::vector<std::string> problems;
  const Rules rules = ParseRules(
      "[stores.eu]\nuri = \"s3://b/x\"\nregion = \"eu\"\n[aliases]\n"
      "\"s3://a/x\" = \"s3://b/x\"\n[[rules]]\ndag = [\n\"x\"]\nformat = \"arrow\"",
      "p", &problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(rules.lines, (std::map<std::string, int>{{"stores.eu", 1},
                                                     {"stores.eu.uri", 2},
                                                     {"stores.eu.region", 3},
                                                     {"aliases.s3://a/x", 5}}));
  ASSERT_EQ(rules.rules.size(), 1U);
  EXPECT_EQ(rules.rules[0].lines, (std::map<std::string, int>{{"dag", 7}, {"format", 9}}));
}

TEST(RulesTest, RulesThatCanNeverMatchAreRefused) {
  EXPECT_THAT(Problems("[[rules]]\nname = \"all\"\n[[rules]]\nname = \"a\"\ndag = \"x\""),
              ElementsAre(HasSubstr("line 3: rule 'a': it can never match: rule 'all' on line 1")));
  EXPECT_THAT(Problems("[[rules]]\ndag = \"s*\"\n[[rules]]\ndag = [\"sales_*\", \"s\"]"),
              ElementsAre(HasSubstr("can never match")));
  EXPECT_THAT(Problems("[[rules]]\ndag = \"s?\"\n[[rules]]\ndag = \"s*\""), IsEmpty());
  EXPECT_THAT(Problems("[[rules]]\ndag = \"s??\"\n[[rules]]\ndag = \"sa?\""),
              ElementsAre(HasSubstr("can never match")));
  EXPECT_THAT(Problems("[[rules]]\nmin_size = 5\n[[rules]]\nname = \"rest\""), IsEmpty());
  EXPECT_THAT(Problems("[[rules]]\nname = \"a\"\ndag = \"x\"\n[[rules]]\nname = \"a\""),
              ElementsAre(HasSubstr("another rule has this name")));
}

}  // namespace
}  // namespace airfreight
