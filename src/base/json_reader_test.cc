#include "base/json_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace airfreight {
namespace {

// Writes down what it is told.
class Notes {
 public:
  bool Null() { return Note("null"); }
  bool Bool(bool value) { return Note(value ? "true" : "false"); }
  bool Integer(std::string_view spelt) { return Note("int " + std::string(spelt)); }
  bool Fraction(std::string_view spelt) { return Note("float " + std::string(spelt)); }
  bool Key(const JsonText& text) { return Note("key " + Spelt(text)); }
  bool String(const JsonText& text) { return Note("text " + Spelt(text)); }
  bool BeginArray() { return Note("["); }
  bool EndArray() { return Note("]"); }
  bool BeginObject() { return Note("{"); }
  bool EndObject() { return Note("}"); }

  const std::string& notes() const { return notes_; }
  // Says no when it is told this.
  std::string stop;

 private:
  static std::string Spelt(const JsonText& text) {
    return std::string(text.utf8) + (text.ascii ? "" : "+high") + (text.copied ? "+copied" : "") +
           (text.surrogates ? "+surrogates" : "");
  }
  bool Note(const std::string& note) {
    notes_ += note + "|";
    return note != stop;
  }

  std::string notes_;
};

std::string Read(std::string_view text) {
  Notes notes;
  JsonReader<Notes> reader(text, notes);
  if (reader.Read()) return notes.notes();
  return std::string(reader.error()) + " at " + std::to_string(reader.offset());
}

TEST(JsonReaderTest, TellsWhatIsThereInItsOrder) {
  EXPECT_EQ(Read(R"( {"a": [1, -2.5, 1e5, true, false, null], "b": {}, "c": []} )"),
            "{|key a|[|int 1|float -2.5|float 1e5|true|false|null|]|key b|{|}|key c|[|]|}|");
}

TEST(JsonReaderTest, ScalarsStandAlone) {
  EXPECT_EQ(Read("-0"), "int -0|");
  EXPECT_EQ(Read(" \n\"x\"\t\r"), "text x|");
}

TEST(JsonReaderTest, IntegersHaveAnyLength) {
  const std::string digits(1000, '7');
  EXPECT_EQ(Read(digits), "int " + digits + "|");
}

TEST(JsonReaderTest, TextsAreTakenFromTheInputUnlessTheyHaveEscapes) {
  EXPECT_EQ(Read("\"plain\""), "text plain|");
  EXPECT_EQ(Read("\"é\""), "text é+high|");
  EXPECT_EQ(Read(R"("a\"\\\/\b\f\n\r\tz")"), "text a\"\\/\b\f\n\r\tz+copied|");
  EXPECT_EQ(Read(R"("\u0041\u00e9\u6f22\ud83d\udea2")"), "text Aé漢🚢+high+copied|");
}

TEST(JsonReaderTest, ALoneSurrogateIsToldAndKept) {
  EXPECT_EQ(Read(R"("\ud800")"), "text \xED\xA0\x80+high+copied+surrogates|");
  EXPECT_EQ(Read(R"("\udc00\ud800")"), "text \xED\xB0\x80\xED\xA0\x80+high+copied+surrogates|");
  // One that is no escape is no UTF-8, beside an escaped one too.
  EXPECT_EQ(Read("\"\\ud800\xED\xA0\x80\""), "not UTF-8 at 7");
  EXPECT_EQ(Read("\"\xED\xA0\x80\\ud800\""), "not UTF-8 at 10");
}

TEST(JsonReaderTest, SpecialCharactersAreFoundWhereverTheyStand) {
  for (size_t before = 0; before < 20; ++before) {
    for (size_t after = 0; after < 20; ++after) {
      const std::string head(before, 'a');
      const std::string tail(after, '\x7f');
      EXPECT_EQ(Read("\"" + head + "\\n" + tail + "\""), "text " + head + "\n" + tail + "+copied|");
      EXPECT_EQ(Read("\"" + head + "\x1f" + tail + "\""),
                "a control character in a string at " + std::to_string(before + 1));
      EXPECT_EQ(Read("[\"" + head + "\",\"" + tail + "é\"]"),
                "[|text " + head + "|text " + tail + "é+high|]|");
    }
  }
}

TEST(JsonReaderTest, DepthHasALimitThatIsAnError) {
  const std::string open(1024, '[');
  EXPECT_EQ(Read(open + std::string(1024, ']')).substr(0, 4), "[|[|");
  EXPECT_EQ(Read(std::string(1'000'000, '[')), "deeper than 1024 levels at 1024");
}

TEST(JsonReaderTest, WhatIsNoJsonIsAnErrorAtItsPlace) {
  EXPECT_EQ(Read(""), "expected a value at 0");
  EXPECT_EQ(Read("[1,]"), "expected a value at 3");
  EXPECT_EQ(Read("{\"a\":1,}"), "expected a name in quotation marks at 7");
  EXPECT_EQ(Read("{\"a\" 1}"), "expected ':' at 5");
  EXPECT_EQ(Read("[1 2]"), "expected ',' or ']' at 3");
  EXPECT_EQ(Read("{\"a\":1]"), "expected ',' or '}' at 6");
  EXPECT_EQ(Read("1 2"), "expected the end at 2");
  EXPECT_EQ(Read("01"), "expected the end at 1");
  EXPECT_EQ(Read("1."), "expected a digit at 2");
  EXPECT_EQ(Read("1e+"), "expected a digit at 3");
  EXPECT_EQ(Read("nul"), "expected a value at 0");
  EXPECT_EQ(Read("\"a"), "a string without an end at 2");
  EXPECT_EQ(Read("\"\\a\""), "an unknown escape at 1");
  EXPECT_EQ(Read("\"\\u00"), "expected four hexadecimal digits at 5");
}

TEST(JsonReaderTest, EndsWhenTheHandlerDoes) {
  Notes notes;
  notes.stop = "int 2";
  JsonReader<Notes> reader("[1,2,3]", notes);
  EXPECT_FALSE(reader.Read());
  EXPECT_EQ(reader.error(), nullptr);
  EXPECT_EQ(notes.notes(), "[|int 1|int 2|");
}

}  // namespace
}  // namespace airfreight
