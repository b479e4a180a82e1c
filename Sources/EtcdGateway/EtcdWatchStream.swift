package import HearthEtcdMessages
package import HearthSystem

/// A watch that is open, on a connection of its own. For one thread; closed when it is released.
package final class EtcdWatchStream {
    private let connection: EtcdConnection
    private var decoder: EtcdWatchDecoder
    /// When the last byte of the watch came. etcd says something at least as often as
    /// `--experimental-watch-progress-notify-interval` says; a member that is silent for longer is to be left.
    package var lastHeard: MonotonicTime { connection.lastHeard }

    /// Begins a watch at a member.
    ///
    /// - parameter deadline: for connecting, and for sending the request.
    package init(
        _ watch: EtcdWatch, of cluster: EtcdCluster, member index: Int, deadline: MonotonicTime
    ) throws(EtcdError) {
        let member = cluster.members[index % cluster.members.count]
        connection = try cluster.connect(to: member, deadline: deadline)
        try connection.beginStream(EtcdWatch.path, watch.message, deadline: deadline)
        decoder = EtcdWatchDecoder(watch)
    }

    /// The first revision whose changes have not been returned: where another watch has to begin.
    package var next: Int64 { decoder.next }

    /// The events received by some time; empty if there are none. Throws when the watch has ended.
    package func events(until end: MonotonicTime) throws(EtcdError) -> [EtcdWatchEvent] {
        var events: [EtcdWatchEvent] = []
        while events.isEmpty {
            let messages = try connection.messagesOfStream(until: end)
            if messages.isEmpty { break }
            for message in messages {
                if let event = try decoder.read(message) { events.append(event) }
            }
        }
        return events
    }
}
