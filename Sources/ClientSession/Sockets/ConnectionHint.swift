/// Advice about a server that cannot be reached.
package struct ConnectionHint {
    /// To be added to the error's text; empty if there is nothing to say.
    package let text: String
    /// Whether further attempts will fail the same way until somebody changes something.
    package let isLasting: Bool

    /// - parameter authorities: names the option for the file of authorities.
    package init(_ error: ConnectionError, _ url: DatabaseURL, authorities: String = "--ca FILE") {
        let secure = "wss://\(url.host):\(url.port)"
        switch error {
        case .disconnected(.unreachable(let reason)) where url.usesTLS:
            text = ConnectionHint.text(tlsFailure: reason, url, authorities)
            isLasting = !text.isEmpty
        case .disconnected(.unreachable(DisconnectReason.endedByServer)):
            // A server that waits for a TLS handshake ends the connection when it gets something else.
            text = "; if it speaks TLS, its URL is \(secure)"
            isLasting = false
        case .disconnected(.handshakeRefused(let status, _)):
            text = status == 400 && !url.usesTLS ? "; if it speaks TLS, its URL is \(secure)" : ""
            isLasting = (400..<500).contains(status) && status != 408 && status != 429
        default:
            text = ""
            isLasting = false
        }
    }

    private static func text(tlsFailure reason: String, _ url: DatabaseURL, _ authorities: String) -> String {
        if reason.contains("wrong version number") || reason.contains("packet length too long") {
            "; if it does not speak TLS, its URL is ws://\(url.host):\(url.port)"
        } else if reason.contains("issuer certificate") || reason.contains("self-signed certificate") {
            "; \(authorities) names the authority that has signed it"
        } else if reason.contains("mismatch") {
            "; the URL must have a name that the certificate is for"
        } else if reason.contains("has expired") || reason.contains("not yet valid") {
            "; renew the certificate, or check the clock of this machine"
        } else {
            ""
        }
    }
}
