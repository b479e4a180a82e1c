package import HearthEventLoop

/// How a node is reached by others.
package struct PeerConfiguration: Sendable {
    /// Where it listens for them.
    package var address: SocketAddress
    /// Where they find it, if that is elsewhere, as behind a translation of addresses.
    package var publicAddress: SocketAddress?
    package var secret: ClusterSecret
    package var times = PeerTimes()

    package init(address: SocketAddress, publicAddress: SocketAddress? = nil, secret: ClusterSecret) {
        self.address = address
        self.publicAddress = publicAddress
        self.secret = secret
    }

    /// Where other nodes find this one.
    package var reachableAddress: SocketAddress { publicAddress ?? address }
}
