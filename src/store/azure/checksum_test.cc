#include "store/azure/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace airfreight::azure {
namespace {

TEST(AzureChecksum, IsThatOfTheWholeBodyUnderItsHeader) {
  // The check value of CRC-64/NVME, its lowest byte first; MD5 as RFC 1321 has it, A.5.
  const std::string text = "123456789";
  const Checksum crc64 = ChecksumOf(Checksums::kCrc64, Body(text));
  EXPECT_EQ(crc64.header, "x-ms-content-crc64");
  EXPECT_EQ(crc64.value, "iJh5CoYUi64=");

  const std::string message = "message digest";
  const Checksum md5 = ChecksumOf(Checksums::kMd5, Body(message));
  EXPECT_EQ(md5.header, "Content-MD5");
  EXPECT_EQ(md5.value, "+WtpfXy3k41SWi8xqvFh0A==");

  const Checksum none = ChecksumOf(Checksums::kNever, Body(text));
  EXPECT_TRUE(none.header.empty() && none.value.empty());
}

TEST(AzureChecksum, PiecesCountAsOneBody) {
  const std::string whole = "message digest";
  Body pieces;
  pieces.Append(AsBytes(whole).first(5));
  pieces.Append(AsBytes(whole).subspan(5));
  for (const Checksums kind : {Checksums::kCrc64, Checksums::kMd5}) {
    EXPECT_EQ(ChecksumOf(kind, pieces).value, ChecksumOf(kind, Body(whole)).value);
    EXPECT_TRUE(CheckAvailable(kind));
  }
}

}  // namespace
}  // namespace airfreight::azure
