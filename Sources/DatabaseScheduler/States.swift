import HearthRealtimeDatabase
import HearthStorageErrors

/// The way back from a commit that failed, or from memory that is half changed.
enum Recovery {
    /// Nothing has failed, or memory is as the log says since.
    case none
    /// The committer is asked to drop the records that build on those that are lost.
    case dropping(StorageError)
    /// The applier still writes.
    case resting(StorageError)
    /// The log is being read, to build memory again.
    case reading(StorageError)
    /// The log could not be read. The next tick tries again; meanwhile nothing can be read or written.
    case unreadable(StorageError)

    var isUnderWay: Bool { if case .none = self { false } else { true } }
}

/// Whether it is being found out if the log takes records again. Only while writes are refused.
enum Probing {
    case idle
    case underWay
    /// Another process has the log of a server that is alone: it never will.
    case pointless
}

/// The rows on their way to the store.
enum Applying {
    case idle
    case writing
    /// Rows that the store could not take yet.
    case failed(FrozenRows)

    var isWriting: Bool { if case .writing = self { true } else { false } }

    var isIdle: Bool { if case .idle = self { true } else { false } }
}

/// Removing obsolete rows from the store, in steps.
struct Clearing {
    enum State {
        /// None are left.
        case idle
        /// Some are left.
        case due
        case underWay
    }

    var state: State
    /// Rows that went to the store since some were last removed: as many are removed next.
    var rowsWritten = 0

    var isUnderWay: Bool { if case .underWay = state { true } else { false } }
}

/// Removing the entries of indexes that are gone, in steps.
enum Sweeping {
    case idle
    case underWay(Set<UInt32>)
    /// A step is done, or has failed.
    case paused(Set<UInt32>, at: [UInt8])

    var isUnderWay: Bool { if case .underWay = self { true } else { false } }
}

/// The large write that is under way, which is the one that `Admission` has begun; others wait for it. The serial tells
/// it from one that was refused meanwhile.
enum LargeWrite {
    case none
    /// Its needs are being found out.
    case examining(serial: UInt64)
    /// The data that it needs are being read.
    case reading(Request)
    /// Its increments get their values.
    case resolving(serial: UInt64)
    /// The rules are being asked.
    case deciding(Request)
    /// Its rows are being made.
    case preparing(serial: UInt64)
    /// Its text goes to the log.
    case storing(Request, serial: UInt64)
    /// Its turn comes next.
    case ready(Request)
    /// The same, and nothing else is done for it before.
    case final(Request)
}

/// The parts of a step other than a turn of small requests, in their order.
enum StepPart: CaseIterable {
    /// Telling listeners of queries, a scan or the making of an index: the first of these that is due.
    case background
    case expiry
    case trim
    case follow
    case decide
    case large

    var next: StepPart {
        switch self {
        case .background: .expiry
        case .expiry: .trim
        case .trim: .follow
        case .follow: .decide
        case .decide: .large
        case .large: .background
        }
    }
}

/// The making of indexes, in steps.
enum Building {
    case possible
    /// It has failed. The next tick tries again.
    case failed
}

enum Life: Equatable {
    case serving
    /// The process ends: nothing is begun that can wait for the next one. The time, in milliseconds of uptime, after
    /// which no further rows of a large value are written: the log has it, and the next process reads it there, which
    /// takes less time.
    case settling(writingUntil: Int64)
    /// The store stays as it is. Large writes that wait for it are not begun.
    case leaving
}
