package import HearthClient
package import HearthClientSession

// Where all tests run at once on few cores, a step may wait for minutes. A test that is not about a time limit is not
// to meet one: these limits only say that something hangs.

private let patience = Duration.seconds(600)

extension ConnectionOptions {
    package static var patient: ConnectionOptions {
        var options = ConnectionOptions()
        options.openTimeout = patience
        options.keepAlive.idle = patience
        options.keepAlive.answer = patience
        return options
    }
}

extension DatabaseOptions {
    /// They come back quickly, too.
    package static var patient: DatabaseOptions {
        var options = DatabaseOptions()
        options.reconnectDelayMin = .milliseconds(10)
        options.reconnectDelayMax = .milliseconds(50)
        options.openTimeout = patience
        options.pingInterval = patience
        options.pingTimeout = patience
        return options
    }
}

extension AuthOptions {
    package static var patient: AuthOptions {
        var options = AuthOptions()
        options.openTimeout = patience
        options.requestTimeout = patience
        return options
    }
}
