import HearthJSONWebTokens
import HearthTreeStorage
import Synchronization

/// For what nodes share beside databases.
extension ClusterNode {
    /// Tells the other nodes that this one has put in force what the cluster's own database says up to an operation.
    package func confirm(_ sequence: UInt64) { setConfirmed(sequence) }

    /// The nodes that run and have not put in force what an operation of the cluster's own database says, sorted. Waits
    /// for etcd. Nil if that does not answer.
    package func unconfirmed(_ sequence: UInt64) -> [String]? { try? Confirmations.missing(sequence, home.cluster) }

    /// A text that only nodes can read; nil without a secret.
    package func seal(_ text: [UInt8]) -> [UInt8]? {
        peers.flatMap { try? Cryptography.seal(text, key: $0.secret.sealingKey) }
    }

    /// Nil if nodes with another secret have sealed it.
    package func open(sealed text: [UInt8]) -> [UInt8]? {
        guard let secret = peers?.secret else { return nil }
        return Self.open(text, secret) ?? secret.other.flatMap { Self.open(text, $0) }
    }

    private static func open(_ text: [UInt8], _ secret: ClusterSecret) -> [UInt8]? {
        (try? Cryptography.open(sealed: text, key: secret.sealingKey)) ?? nil
    }

    /// Whether this node is to seal a text again, as it was sealed with the secret that is being replaced. Only the
    /// node that takes the writes does: while nodes get the new secret, not all of them use the same one.
    package func mustSealAgain(_ text: [UInt8]) -> Bool {
        guard let secret = peers?.secret, let other = secret.other else { return false }
        let isOwner = shared.state.withLock { $0.keepers[DataFolder.clusterDatabase]?.isOwner ?? false }
        return isOwner && Self.open(text, secret) == nil && Self.open(text, other) != nil
    }
}
