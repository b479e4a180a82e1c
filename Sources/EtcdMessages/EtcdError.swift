/// Why a call to etcd has not succeeded.
package enum EtcdError: Error, Hashable, Sendable {
    /// The member cannot be reached, or has said that it did nothing.
    case unavailable(String)
    /// The member knows of no leader, so it did nothing.
    case noLeader
    /// No answer came, or one that leaves open whether the call was applied. It may also be applied later.
    case outcomeUnknown(String)
    /// The answer is not one that etcd gives. Whether the call was applied is not known either.
    case malformedReply(String)
    /// The lease has ended, or never began. Nothing was written.
    case leaseNotFound
    /// Another lease has this number.
    case leaseExists
    /// Revisions so old are gone. The oldest one that can still be read or watched is given if the reply says so.
    case compacted(oldest: Int64?)
    /// The store has not reached this revision.
    case futureRevision
    /// The request has more bytes than etcd takes.
    case tooLarge
    /// The store is full: it takes no more until it has been compacted and defragmented and its alarm was cleared.
    case noSpace
    /// Too many requests wait in the cluster.
    case overloaded
    /// The client is not allowed to do this.
    case denied(String)
    /// The request is one that etcd cannot understand or carry out: a mistake of ours.
    case invalidRequest(String)
    /// The member belongs to another cluster than those that answered before.
    case otherCluster(expected: UInt64, found: UInt64)

    /// The call may have been applied, or may be applied later.
    package var mayHaveBeenApplied: Bool {
        switch self {
        case .outcomeUnknown, .malformedReply: true
        default: false
        }
    }

    /// No attempt of a call that ended with this error was applied, or will be. An error that ends a call at once may
    /// follow an earlier attempt without an answer, at another member.
    package var isDefinite: Bool { self == .overloaded || isOfOneMember && !mayHaveBeenApplied }

    /// The fault may be that of one member, so that another one may do better.
    package var isOfOneMember: Bool {
        switch self {
        case .unavailable, .noLeader, .outcomeUnknown, .malformedReply, .otherCluster: true
        default: false
        }
    }
}

extension EtcdError: CustomStringConvertible {
    /// One line for operators.
    package var description: String {
        switch self {
        case .unavailable(let reason): "etcd cannot be reached: \(reason)"
        case .noLeader: "etcd has no leader: fewer than half of its members can reach each other"
        case .outcomeUnknown(let reason): "etcd did not answer, and may have applied the request: \(reason)"
        case .malformedReply(let reason): "the reply is not one of etcd's: \(reason)"
        case .leaseNotFound: "the lease has ended"
        case .leaseExists: "another lease has this number"
        case .compacted(let oldest?): "etcd has removed revisions before \(oldest)"
        case .compacted(nil): "etcd has removed this revision"
        case .futureRevision: "etcd has not reached this revision"
        case .tooLarge: "the request is larger than etcd takes (--max-request-bytes)"
        case .noSpace: "etcd is full: its file has reached --quota-backend-bytes"
        case .overloaded: "too many requests wait in etcd"
        case .denied(let reason): "etcd denies access: \(reason)"
        case .invalidRequest(let reason): "etcd does not accept the request: \(reason)"
        case .otherCluster(let expected, let found):
            "this member belongs to cluster \(String(found, radix: 16)), not to \(String(expected, radix: 16))"
        }
    }
}

extension EtcdError {
    /// Reads the status of gRPC and its text.
    package init(code: Int, message: String) {
        self =
            switch code {
            case 14 where message.hasSuffix("no leader"): .noLeader
            case 3 where message.hasSuffix("request is too large"): .tooLarge
            case 3: .invalidRequest(message)
            case 5 where message.hasSuffix("lease not found"): .leaseNotFound
            case 8 where message.hasSuffix("database space exceeded"): .noSpace
            case 8 where message.contains("larger than max"): .tooLarge
            case 8: .overloaded
            case 9 where message.hasSuffix("lease already exists"): .leaseExists
            case 11 where message.hasSuffix("has been compacted"): .compacted(oldest: nil)
            case 11 where message.hasSuffix("is a future revision"): .futureRevision
            case 5, 6, 9, 11, 12: .invalidRequest(message)
            case 7, 16: .denied(message)
            // Cancelled, unknown, deadline exceeded, aborted, internal, unavailable, data loss.
            default: .outcomeUnknown(message)
            }
    }
}
