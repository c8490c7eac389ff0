#pragma once

/// \file
/// \brief Objects as files below a directory.

#include <memory>

#include "airfreight/store.h"
#include "store/uri.h"

namespace airfreight {

/// \brief Opens `file:///dir`: a local directory, or one that several hosts mount.
///
/// An object is the file `<dir>/<key>` and holds exactly the object's bytes: a Parquet file can be
/// opened where it lies. Names that begin with `.@` are the store's own (no key that a Coordinate
/// gives has an `@`) and List does not show them:
///
/// - `.@<random>.tmp` — a write that is under way, or one that was killed. Removed by a later
/// Remove
///   in the same directory once it is a day old.
/// - `.@<name>@<token>` — content type and metadata of `<name>`. The token is made of the file's
///   length and modification time, and the store gives each file a time that its predecessor did
///   not have, so that an object never meets another's metadata. A copy that keeps times (`cp -a`,
///   `rsync -a`) keeps metadata; without them the object reads all the same and its metadata is
///   empty.
/// - `.@locks/<00–3f>` — lock files, chosen by the key's hash. Never removed, so that no one can
/// hold
///   a lock on a file that is no longer the one that others would lock.
///
/// Put writes a hidden file, syncs it, and only then, under the key's lock, checks the condition
/// and moves metadata and file to their names, in this order. A process that is killed at any
/// moment leaves the old object or the new one, with its own metadata. Get takes no lock: it opens
/// the file and then finds the metadata of exactly that file.
///
/// Locks are open-file-description locks (fcntl(2), F_OFD_SETLK): unlike flock they reach the
/// server over NFS with a file that is open for writing, unlike classic record locks they hold
/// between threads and do not vanish when the process closes another descriptor of the file. Where
/// the file system has no locks, a Put on condition "absent" is still atomic (by link(2)), one on a
/// version is Unsupported.
///
/// Directories are made with 0777 and files with 0666, less the umask: where tasks run as several
/// users (Airflow's `run_as_user`), give them a common group, a set-group-id directory and umask
/// 002.
///
/// Symbolic links below the directory are not followed (OutOfScope), the directory itself may be
/// one.
///
/// An upload in parts writes them where they belong in the hidden file, and Complete goes on as Put
/// does.
///
/// Threads: as ObjectStore; holds no descriptor between calls, but for those of an upload in parts.
/// Blocking: reads and writes in pieces of 4 MiB and polls between them; waits for a lock in steps
/// of at most 20 ms, for 30 s in all: then Unavailable, which is tried again. A system call that
/// hangs (a dead NFS server) cannot be cancelled. Errors: as ObjectStore; a missing object is a
/// NotFound that names this host unless `shared` is set.
///
/// Settings: `fsync` (default true: what was confirmed survives a power failure), `shared` (default
/// false; true says that every host of the deployment has this directory).
Result<std::shared_ptr<ObjectStore>> OpenFileStore(const StoreUri& uri,
                                                   const StoreSettings& settings);

}  // namespace airfreight
