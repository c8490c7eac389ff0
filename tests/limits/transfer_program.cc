// One transfer in a process of its own, and what it has added to the resident memory at most:
//
//   push SIZE            streams SIZE bytes into one value; prints its reference, then the growth
//   pull REFERENCE PATH  pulls the object of a reference to a file; prints the growth
//
// The store is that of AIRFREIGHT_TEST_S3 (tests/servers); AIRFREIGHT_TEST_SLOTS says how many
// such processes share the machine's memory.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "airfreight/freight.h"

namespace airfreight {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

std::string Setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

[[noreturn]] void Die(const Error& error) {
  std::cerr << error.message << "\n";
  std::exit(1);
}

int64_t ResidentBytes() {
  int64_t total = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

Freight Open() {
  auto store = OpenStore(Setting("AIRFREIGHT_TEST_S3", ""),
                         {{"endpoint_url", Setting("AIRFREIGHT_TEST_S3_ENDPOINT", "")}});
  if (!store) Die(store.error());
  TransferOptions transfer;
  transfer.slots = std::atoi(Setting("AIRFREIGHT_TEST_SLOTS", "1").c_str());
  return Freight({{"default", *store}}, Decision(), {}, transfer);
}

void Push(Freight& freight, uint64_t size) {
  ValueInfo info;
  info.type = "builtins.bytes";
  info.extension = "bin";
  Coordinate where{"limits", "run", "stream", Instance::Map(-1), "k", std::nullopt};
  auto writer = freight.Open(where, info, {});
  if (!writer) Die(writer.error());
  std::vector<uint64_t> piece(kPieceBytes / sizeof(uint64_t));
  uint64_t word = 0;
  for (uint64_t done = 0; done < size;) {
    for (uint64_t& place : piece) place = word++ * 0x9E3779B97F4A7C15U;
    const size_t length = std::min<uint64_t>(kPieceBytes, size - done);
    const auto bytes = std::as_bytes(std::span(piece)).first(length);
    if (auto appended = (*writer)->Append(bytes, {}); !appended) Die(appended.error());
    done += length;
  }
  const auto reference = (*writer)->Finish(info, {});
  if (!reference) Die(reference.error());
  const auto text = reference->ToJson();
  if (!text) Die(text.error());
  std::cout << *text << "\n";
}

void Pull(Freight& freight, std::string_view text, const std::string& path) {
  const auto reference = Reference::Parse(text);
  if (!reference) Die(reference.error());
  if (auto pulled = freight.GetToFile(*reference, path, {}); !pulled) Die(pulled.error());
}

int Run(const std::vector<std::string>& words) {
  Freight freight = Open();
  const int64_t before = ResidentBytes();
  if (words.size() == 2 && words[0] == "push") {
    Push(freight, std::strtoull(words[1].c_str(), nullptr, 10));
  } else if (words.size() == 3 && words[0] == "pull") {
    Pull(freight, words[1], words[2]);
  } else {
    std::cerr << "push SIZE | pull REFERENCE PATH\n";
    return 2;
  }
  std::cout << PeakBytes() - before << " " << PeakBytes() << "\n";
  return 0;
}

}  // namespace
}  // namespace airfreight

int main(int count, char** words) {
  return airfreight::Run(std::vector<std::string>(words + 1, words + count));
}
