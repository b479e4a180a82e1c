package import HearthClient

/// What may be wrong when a server cannot be reached, for whoever wrote the address.
package struct ConnectionHint {
    /// To be put after the error; empty if there is nothing to say.
    package let text: String

    package init(_ error: ConnectionError, _ url: DatabaseURL) {
        guard case .disconnected(.unreachable(let reason)) = error else {
            text = ""
            return
        }
        let (plain, secure) = ("ws://\(url.host):\(url.port)", "wss://\(url.host):\(url.port)")
        if !url.usesTLS {
            // A server that waits for a TLS handshake ends the connection when it gets something else.
            text = reason == DisconnectReason.endedByServer ? "; if it speaks TLS, its URL is \(secure)" : ""
        } else if reason.contains("wrong version number") || reason.contains("packet length too long") {
            text = "; if it does not speak TLS, its URL is \(plain)"
        } else if reason.contains("issuer certificate") || reason.contains("self-signed certificate") {
            text = "; --ca FILE names the authority that has signed it"
        } else if reason.contains("mismatch") {
            text = "; the URL must have a name that the certificate is for"
        } else {
            text = ""
        }
    }
}
