package import HearthClient
package import HearthClientSession
import HearthDelivery
import HearthEventLoop
import HearthRealtimeSessions
package import HearthServer
import HearthTestSupport
import HearthTriggers

// Where all tests run at once on few cores, a step may wait for minutes. A test that is not about a time limit is not
// to meet one: these limits only say that something hangs.

extension ConnectionOptions {
    package static var patient: ConnectionOptions {
        var options = ConnectionOptions()
        options.openTimeout = Patience.limit
        options.keepAlive.idle = Patience.limit
        options.keepAlive.answer = Patience.limit
        return options
    }

    /// The same for servers that end silent connections: it says in time that it is still there.
    package static var persistent: ConnectionOptions {
        var options = ConnectionOptions.patient
        options.keepAlive.idle = ConnectionOptions().keepAlive.idle
        return options
    }
}

extension DatabaseOptions {
    /// They come back quickly, too.
    package static var patient: DatabaseOptions {
        var options = DatabaseOptions()
        options.reconnectDelayMin = .milliseconds(10)
        options.reconnectDelayMax = .milliseconds(50)
        options.openTimeout = Patience.limit
        options.pingInterval = Patience.limit
        options.pingTimeout = Patience.limit
        return options
    }
}

extension ServerConfiguration {
    /// Raises the limits on clients and on the server's end, before a test sets those that it is about. A poll with
    /// nothing to say is then answered only at the end of its session.
    package mutating func bePatient() {
        connectionLimits.headTimeout = Patience.limit
        connectionLimits.receivePatience = Patience.limit
        connectionLimits.keepAliveTimeout = Patience.limit
        connectionLimits.sendTimeout = Patience.limit
        connectionLimits.realtimeTimeout = Patience.limit
        connectionLimits.pollHoldMax = Patience.limit
        connectionLimits.pollGapMax = Patience.limit
        connectionLimits.eventStreamKeepAlive = Patience.limit
        snapshotLimits.patience = Patience.limit
        streamLimits.openTimeout = Patience.limit
        streamLimits.closeTimeout = Patience.limit
        triggers.timeout = Patience.limit
        stopGrace = Patience.limit
    }
}

extension AuthOptions {
    package static var patient: AuthOptions {
        var options = AuthOptions()
        options.openTimeout = Patience.limit
        options.requestTimeout = Patience.limit
        return options
    }
}
