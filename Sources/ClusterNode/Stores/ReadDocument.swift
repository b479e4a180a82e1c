import HearthEtcdMessages

/// A value in etcd as it was read last.
enum ReadDocument: Equatable {
    case unread
    /// Nil if etcd had none.
    case read(EtcdKeyValue?)
}
