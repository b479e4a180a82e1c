import HearthJSONWebTokens

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
        peers.flatMap { (try? Cryptography.open(sealed: text, key: $0.secret.sealingKey)) ?? nil }
    }
}
