import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthServerLog
import HearthStorageErrors
import HearthTreeStorage

extension DatabaseHost {
    /// Tells operators, and `/readyz`, of a database.
    func report(_ news: Report, of name: String) {
        func entry(_ error: StorageError, _ key: StaticString = "error") -> [(StaticString, String)] {
            [("database", name), (key, error.message)]
        }
        switch news {
        case .commitFailed(let failure): log.error("log.commit-failed", entry(failure.storageError))
        case .recoveryFailed(let error):
            log.error("database.recovery-failed", entry(error))
            readiness.database(name, .refusesWrites(error))
        case .writesRefused(let error, let isRecovered):
            if isRecovered { log.warning("database.writes-refused", entry(error, "reason")) }
            readiness.database(name, .refusesWrites(error))
        case .writesAccepted:
            readiness.database(name, nil)
            log.info("database.writes-accepted", [("database", name)])
        case .filesReplaced(let error): log.error("database.replaced", entry(error))
        case .packingFailed(let error): log.error("tree.packing-failed", entry(error))
        case .applyFailed(let error): log.error("tree.apply-failed", entry(error))
        case .indexesBuilt: log.info("index.built", [("database", name)])
        case .buildFailed(let error): log.error("index.build-failed", entry(error))
        case .leasesNotMoved(let error): log.error("queue.leases-not-moved", entry(error))
        case .historyReadFailed(let error): log.warning("history.read-failed", entry(error))
        case .clockJumped(let milliseconds):
            log.warning("clock.jumped", [("database", name), ("milliseconds", "\(milliseconds)")])
        case .ownership(.alone), .ownership(.takingOver): break
        case .ownership(.handingOver): log.info("database.handing-over", [("database", name)])
        case .ownership(.owner): log.info("database.owned", [("database", name)])
        case .ownership(.elsewhere(let node)):
            log.info("database.followed", [("database", name), ("owner", node ?? "none")])
        case .denials where name == DataFolder.clusterDatabase: break
        case .denials(let requests): denials.add(requests, in: name)
        }
    }
}
