#pragma once

/// \file
/// \brief Freight: the facade that the Python bindings use. Put a value's bytes, get them back,
/// take them away; everything about keys, attempts, references and trust happens behind it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "airfreight/bytes.h"
#include "airfreight/coordinate.h"
#include "airfreight/digest.h"
#include "airfreight/reference.h"
#include "airfreight/store.h"

namespace airfreight {

/// What a codec says of the bytes it made.
struct ValueInfo {
  std::string type;       ///< `_xcom_type`.
  std::string extension;  ///< `[a-z0-9]{1,16}`.
  std::string content_type = "application/octet-stream";
  std::optional<int64_t> rows;
  std::string summary;
  std::vector<std::pair<std::string, std::string>> columns;  ///< (label, dtype)
  std::vector<int64_t> nulls;  ///< Of each of `columns`; empty: not known. As in Reference.
  bool columns_cut = false;    ///< There are more columns than `columns` tells.
  std::vector<std::vector<std::string>> preview;  ///< The cells of the first rows, as texts.
};

/// Who pushes. Orders the writers of one coordinate (see `formats/reference.md`, "Attempts").
struct Attempt {
  int64_t number = 0;          ///< Airflow's try number; 0 when not known.
  int64_t started_micros = 0;  ///< Start of the task instance, microseconds since 1970; 0: now.
};

/// What is decided for one value.
struct Decision {
  std::string store = "default";  ///< Name of the store to write to.
  DigestKind digest = DigestKind::kCrc32c;
  uint64_t max_bytes = 0;  ///< Largest object that may be pushed; 0: only the store's limit.
  /// What to call `max_bytes` in a message: the setting or the rule that has it.
  std::string max_bytes_name = "[airfreight] max_object_bytes";
  std::string encryption_key;                          ///< As PutOptions::encryption_key.
  std::string encryption_key_name = "encryption_key";  ///< As max_bytes_name.
  /// For how long the value is kept, from the beginning of its push; 0: it stays.
  int64_t retention_seconds = 0;
  /// Whether the object is encrypted before it leaves the process (`formats/sealed.md`).
  bool seal = false;
};

/// A store by its configured name, which references carry. The first of a list is written to by
/// default.
struct NamedStore {
  std::string name;  ///< Empty: is only read from, for references that carry any name.
  std::shared_ptr<ObjectStore> store;
  std::vector<std::string> aliases = {};  ///< Roots whose objects lie here now: see SetAliases.
};

/// \brief One place read in place of another, which was copied there.
///
/// Both are URIs of stores, or of what lies above some: all below `from` is looked for below `to`.
struct Alias {
  std::string from;
  std::string to;
};

/// Tells each store of the roots that the aliases have lead to it. Of two aliases that fit, the one
/// with the longer `from` holds; what it leads to is not looked up again. Invalid for one that is
/// no URI of a store, names a connection, leads to itself or to no store of the list.
Status SetAliases(const std::vector<Alias>& aliases, std::vector<NamedStore>* stores);

/// \brief How bytes move. One set for a process.
struct TransferOptions {
  /// What all transfers under way may hold together beside the values themselves; 0: what
  /// DefaultMemoryBudget says. See `src/transfer/memory_budget.h`.
  uint64_t memory_bytes = 0;
  /// Task slots that share the machine's memory, for the default of `memory_bytes`.
  int slots = 1;
  /// Most requests at once for one value, and for one list of values.
  int connections = 16;
  /// Smallest part of an upload in parts; grows where a value would take too many of them.
  uint64_t part_bytes = uint64_t{8} << 20;
};

/// \brief A value that is sent while it is still being made.
///
/// Gathers what is appended; nothing is requested while it fits one part. Beyond, parts go out in
/// the background while more is appended, each from its own buffer.
///
/// Threads: one at a time; the requests run on threads of its own, which end with it. Ownership:
/// copies what it is given; must not outlive its Freight. Blocking: Append where the memory budget
/// is used up, Finish until the store has confirmed. The destructor abandons what was not finished
/// (no part stays behind in the store, as far as that can be reached within seconds). Fork: of no
/// use in a child; its destructor does nothing there. Errors: as Freight::Put; after one every call
/// returns it.
class ValueWriter {
 public:
  virtual ~ValueWriter() = default;
  virtual Status Append(ByteView bytes, const Context& context) = 0;
  /// Bytes appended so far.
  virtual uint64_t size() const = 0;
  /// CRC-32C of each block of kBlockBytes appended so far (the last may be shorter). What is
  /// appended after the first call is the *tail*: the reference then carries the tail's own
  /// checksum, so that an index which lies in the tail (Parquet's footer) can hold this table, and
  /// a reader can check any range without the whole.
  virtual std::vector<uint32_t> SealBlocks() = 0;
  virtual Result<Reference> Finish(const ValueInfo& info, const Context& context) = 0;
  /// After a Finish that has failed: all bytes of the object, where no part of it was sent. Else,
  /// and of a value that is empty, nothing. Lives as long as the writer.
  virtual Body Unsent() const { return {}; }
  /// The write id, which the reference is to have, and sealed frames are bound to.
  virtual std::string write() const = 0;
  /// Gives the value up: parts that were sent are removed.
  virtual Status Abandon(const Context& context) = 0;
};

/// Granularity of checked partial reads.
inline constexpr uint64_t kBlockBytes = uint64_t{64} << 10;

/// \brief Ranges of the object of a reference.
///
/// Threads: may be shared. Ownership: must not outlive its Freight. Blocking, fork: as ObjectStore.
/// Errors: as Freight::Get; Corrupt where a range does not have the checksum that it was written
/// with. All ranges are of one version of the object: Replaced when it changes in between.
class ValueReader {
 public:
  struct Range {
    uint64_t offset = 0;
    uint64_t length = 0;
  };
  /// A run of bytes, and the CRC-32C that it was written with.
  struct Check {
    uint64_t offset = 0;
    uint64_t length = 0;
    uint32_t crc32c = 0;
  };
  virtual ~ValueReader() = default;
  virtual uint64_t size() const = 0;
  /// Where the tail begins (`size()` when the reference tells of none).
  virtual uint64_t tail_offset() const = 0;
  /// The tail, checked against the reference. One request.
  virtual Result<Buffer> ReadTail(const Context& context) = 0;
  /// Sets the table that ValueWriter::SealBlocks gave. Invalid when it does not fit the object.
  virtual Status SetBlocks(std::vector<uint32_t> blocks) = 0;
  /// Sets runs of any length in place of blocks: none is empty, they lie in order before the tail,
  /// and there may be gaps between them. Invalid when they do not.
  virtual Status SetChecks(std::vector<Check> checks) = 0;
  /// Reads ranges at once, merged where they lie close, each checked by its blocks or runs, which
  /// are fetched whole. Invalid before either was set, and for a range that they do not cover.
  virtual Result<std::vector<Buffer>> Read(const std::vector<Range>& ranges,
                                           const Context& context) = 0;
};

/// A value's bytes as a sealed object, and the write id that its frames are bound to.
struct SealedValue {
  std::string write;
  Buffer bytes;
};

/// What became of a sealed object whose data key was to be wrapped by the newest key.
enum class Rewrap {
  kNotSealed,
  kCurrent,    ///< It is.
  kOld,        ///< It is not, and nothing was to be written.
  kRewrapped,  ///< It is now.
  kGone,
  kReplaced,  ///< Another push has written there since.
  kForeign,   ///< Another deployment's, or behind an alias: not ours to write.
};

struct FreightState;
struct Seal;

/// \brief The facade.
///
/// Threads: every method may be called from several at once. Ownership: shares the stores. Fork: as
/// ObjectStore. Blocking: as ObjectStore; `context` reaches every request. Errors: as listed, each
/// with store and key, and messages that name the coordinate.
class Freight {
 public:
  /// \param defaults for values of which nothing else is decided.
  /// \param seal which references are signed and followed (`src/seal/seal.h`); nullptr: all are
  ///     followed, and none signed.
  explicit Freight(std::vector<NamedStore> stores, Decision defaults = {}, std::string owner = {},
                   TransferOptions transfer = {}, std::shared_ptr<const Seal> seal = nullptr);
  Freight(const Freight&) = delete;
  Freight& operator=(const Freight&) = delete;
  ~Freight();

  /// One value that is there as a whole.
  struct Item {
    Coordinate coordinate;
    Body body;
    ValueInfo info;
    Attempt attempt;
    std::optional<Decision> decision = {};  ///< Absent: the defaults.
  };
  /// Writes `body` as the value of `coordinate` and returns the reference for the row, once the
  /// store has confirmed. One request when nothing lies there yet; on a conflict one HEAD and one
  /// more PUT; on a store without conditional writes always one HEAD and one PUT. Superseded when a
  /// newer attempt has written there, Invalid when another deployment has. Before any request:
  /// TooLarge above a limit, Invalid where no store has the name that was decided, Unsupported
  /// where it takes no encryption key.
  Result<Reference> Put(const Item& item, const Context& context);
  /// As the other, with what is decided by default.
  Result<Reference> Put(const Coordinate& coordinate, const Body& body, const ValueInfo& info,
                        const Attempt& attempt, const Context& context);

  /// As Put, for a value that is still to be made. The store and the key are decided now, by type
  /// and extension (`info`'s in Finish must be the same). No request.
  Result<std::unique_ptr<ValueWriter>> Open(const Coordinate& coordinate, const ValueInfo& info,
                                            const Attempt& attempt,
                                            const std::optional<Decision>& decision = {});

  /// Puts each item, many at once; results in their order. Ends early only when cancelled.
  std::vector<Result<Reference>> PutMany(const std::vector<Item>& items, const Context& context);

  /// Gets each reference, many at once; results in their order. Ends early only when cancelled.
  std::vector<Result<Buffer>> GetMany(const std::vector<Reference>& references,
                                      const Context& context);

  /// Writes the object of a reference to a file, in pieces: what is held meanwhile is the memory
  /// budget's. The file appears under its name when it is complete and verified; one that is there
  /// is replaced. Denied, Unavailable or Invalid when it cannot be written, naming the path.
  Status GetToFile(const Reference& reference, const std::string& path, const Context& context);

  /// Opens the object of a reference for reading parts of it. No request.
  Result<std::unique_ptr<ValueReader>> OpenReader(const Reference& reference);

  /// Follows a reference: one GET, or several ranges at once where that is faster. OutOfScope when
  /// it points outside the configured stores, its URI is not the one that its coordinate gives, or
  /// its store's name and place leave open which store is meant; Forged where its signature is not
  /// one that there are keys for; Expired, without a request, where its time is over, whether the
  /// object is still there or not; NotFound, Corrupt, Replaced as they say.
  Result<Buffer> Get(const Reference& reference, const Context& context);

  /// Removes the object of a reference if it still bears the reference's write id; true when it
  /// removed one, false when it was gone, belongs to another write or lies behind an alias: aliases
  /// are for reading, and a copy belongs to whoever made it. False too, and no request is made,
  /// where the reference is another deployment's. Forged and OutOfScope as Get.
  Result<bool> Purge(const Reference& reference, const Context& context);

  /// Has the data key of a sealed object wrapped by the newest of the sealing keys. The frames stay
  /// as they are, and the object's metadata, so that all references to it go on to hold. One
  /// request for a few bytes where there is nothing to do; else the object is read and written
  /// once, on the condition that it is still the same.
  /// \param decision where its push was decided so, the key that the store encrypts it under.
  /// \param dry nothing is written.
  /// Errors: as Get; Corrupt where the frames are not those that were written, which stay then;
  /// Unsupported where the store has no conditional writes.
  Result<Rewrap> RewrapKey(const Reference& reference, const std::optional<Decision>& decision,
                           bool dry, const Context& context);

  /// \brief Seals a value that goes to no store, as the object that its push would have written.
  /// No request, but to a service that keeps keys. Invalid without a key to seal with; else as
  /// what wraps the data key.
  Result<SealedValue> SealValue(const Coordinate& coordinate, const Body& body);
  /// \brief Opens what SealValue has made for a coordinate, or a ValueWriter that was not
  /// finished. No request, as SealValue.
  ///
  /// Corrupt where `bytes` are no sealed object; Denied where its key is not among those here;
  /// Forged where it is not what was sealed for this coordinate under this write id.
  Result<Buffer> OpenValue(const Coordinate& coordinate, const std::string& write, ByteView bytes);
  /// What RewrapKey does, for what SealValue has made: the bytes that the last kEnvelopeBytes of
  /// them have to be; nothing where the newest key wraps its data key already. Corrupt and Denied
  /// as OpenValue; the frames are not looked at.
  Result<std::optional<std::string>> RewrapValue(ByteView bytes);

  /// \brief Takes a reference that somebody else made, such as a container which has written the
  /// object itself, for the row of `coordinate`. No request: a pull verifies the object.
  ///
  /// Forged unless its signature is good and its coordinate the one given; where there are no keys,
  /// unless `external` says that unsigned ones may be taken. OutOfScope when it leads to none of
  /// the stores that are written to; Invalid when it is another deployment's.
  Status Adopt(const Reference& reference, const Coordinate& coordinate, bool external) const;

  /// \brief Signs a reference that was written before there were keys, once its object has been
  /// read and found to be what the reference says; its digest becomes the SHA-256. One GET, of
  /// which nothing is held. One that is signed already, with a key that is still among those here,
  /// is signed anew with the first key, without a request.
  ///
  /// Invalid without a key for its DAG; Forged when it has a wrong signature; else as Get.
  Result<Reference> Sign(Reference reference, const Context& context);

  /// To be called when the row of `coordinate` holds something else than what this process wrote
  /// for it: removes that, if anything, unless it is of the write `keep`. No request when it wrote
  /// nothing.
  Status Settle(const Coordinate& coordinate, const Context& context, std::string_view keep = {});

  const std::vector<NamedStore>& stores() const { return stores_; }

 private:
  Result<Reference> PutOne(const Item& item, int connections, const Context& context);
  Result<Reference> PutSealed(const Item& item, const Context& context);
  Result<Buffer> GetOne(const Reference& reference, int connections, bool one_of_many,
                        const Context& context);
  int ConnectionsOfEach(size_t items) const;

  std::vector<NamedStore> stores_;
  Decision defaults_;
  std::unique_ptr<FreightState> state_;  // What this process has written, and may hold.
};

}  // namespace airfreight
